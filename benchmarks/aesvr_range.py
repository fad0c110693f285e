"""Where AESVR works: its test tube loss by radius and accuracy, with the plug-in, the zero model and the optimum.

    python benchmarks/aesvr_range.py

Synthetic data: x is uniform on the unit sphere of 20 dimensions, y = w.x + noise with ||w||_2 = radius, 40,000
examples. Per example, the series takes 5 draws for the point and as many as it needs for the derivative of the loss.
The plug-in gets the series' average number of draws, rounded down, half of them for the point. Step sizes are chosen
from a grid on validation data; each repetition has its own data and its own choice. Prints Markdown tables.
"""

from itertools import product
from math import ceil

import numpy as np
from rich.console import Console
from rich.progress import track
from scipy.optimize import minimize
from scipy.special import erf

from sparing.learners import AESVR

N_ATTRIBUTES, N_TRAIN, N_VALID, N_TEST = 20, 40_000, 5_000, 20_000
TUBE, NOISE, POINT_LOOKS = 0.1, 0.075, 5
RADII, ACCURACIES = (0.5, 1.0, 2.0), (2.0, 1.0, 0.5, 0.25)
STEP_SCALES = (0.1, 0.3, 1.0, 3.0)
REPETITIONS = 5
ESTIMATORS = {
    "series": {},
    "series, odd orders": {"orders": "nonzero"},
    "plug-in": {"estimator": "plug-in"},
}


def tube_loss(w, X, y) -> float:
    """Mean distance outside the tube."""
    return float(np.maximum(np.abs(X @ w - y) - TUBE, 0.0).mean())


def make_data(radius, seed):
    """Train, validation and test examples."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_TRAIN + N_VALID + N_TEST, N_ATTRIBUTES))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    w = rng.normal(size=N_ATTRIBUTES)
    y = X @ (w * radius / np.linalg.norm(w)) + NOISE * rng.normal(size=len(X))
    cuts = [N_TRAIN, N_TRAIN + N_VALID]
    return list(zip(np.split(X, cuts), np.split(y, cuts), strict=True))


def optimum(X, y, radius, smooth=0.02):
    """The least tube loss (smoothed by very little) in the ball, by a generic solver that reads everything."""

    def objective(w):
        low, high = (X @ w - y - TUBE) / smooth, (X @ w - y + TUBE) / smooth
        rho = [z * erf(z) + np.exp(-z * z) / np.sqrt(np.pi) for z in (low, high)]
        return smooth / 2 * np.mean(rho[0] + rho[1]), X.T @ (erf(low) + erf(high)) / (2 * len(y))

    ball = {"type": "ineq", "fun": lambda w: radius**2 - w @ w, "jac": lambda w: -2 * w}
    return minimize(objective, np.zeros(X.shape[1]), jac=True, constraints=ball, method="SLSQP").x


def budget_for(radius, accuracy, options) -> int:
    """The budget that leaves POINT_LOOKS draws for the point."""
    learner = AESVR(N_ATTRIBUTES, budget=N_ATTRIBUTES, radius=radius, accuracy=accuracy, **options)
    return POINT_LOOKS + ceil(learner.expected_inner_looks)


def budgets(radius, accuracy) -> dict[str, int]:
    """For the plug-in no more than the series takes on average."""
    found = {name: budget_for(radius, accuracy, options) for name, options in ESTIMATORS.items()}
    return found | {"plug-in": found["series"] - 1}


def best_of_grid(data, seed, options):
    """Test loss and looks per example of the step size that did best on the validation data."""
    (X, y), valid, test = data
    models = [AESVR(N_ATTRIBUTES, step_scale=s, random_state=seed, **options).run(X, y) for s in STEP_SCALES]
    best = min(models, key=lambda model: tube_loss(model.coef, *valid))
    return tube_loss(best.coef, *test), best.draws / N_TRAIN, best.cells / N_TRAIN


def main() -> None:
    data = {(r, seed): make_data(r, seed) for r in RADII for seed in range(REPETITIONS)}
    rows = []
    for radius, accuracy in track(list(product(RADII, ACCURACIES)), console=Console(stderr=True)):
        budget = budgets(radius, accuracy)
        row = f"| {radius} | {accuracy} |"
        for name, options in ESTIMATORS.items():
            settings = {"radius": radius, "accuracy": accuracy, "tube": TUBE, "budget": budget[name]} | options
            runs = [best_of_grid(data[radius, seed], seed, settings) for seed in range(REPETITIONS)]
            losses, draws, cells = np.transpose(runs)
            row += f" {losses.mean():.4f} ± {losses.std(ddof=1):.4f} ({draws.mean():.1f}, {cells.mean():.1f}) |"
        rows.append(row)
    print("test tube loss, mean ± sd of", REPETITIONS, "repetitions (draws, distinct values looked at per example)\n")
    print("| radius | accuracy |", " | ".join(ESTIMATORS), "|\n|", " | ".join(["---"] * (2 + len(ESTIMATORS))), "|")
    print("\n".join(rows))
    print("\n| radius | zero model | optimum |\n| --- | --- | --- |")
    for radius in RADII:
        losses = [
            (tube_loss(np.zeros(N_ATTRIBUTES), *test), tube_loss(optimum(*train, radius), *test))
            for train, _, test in (data[radius, seed] for seed in range(REPETITIONS))
        ]
        zero, best = np.mean(losses, axis=0), np.std(losses, axis=0, ddof=1)
        print(f"| {radius} | {zero[0]:.4f} ± {best[0]:.4f} | {zero[1]:.4f} ± {best[1]:.4f} |")


if __name__ == "__main__":
    main()
