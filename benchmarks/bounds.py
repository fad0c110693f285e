"""The theorems compared with runs: measured excess risk relative to the bound, for every learner that has one.

    python benchmarks/bounds.py            # about two minutes
    python benchmarks/bounds.py --quick

The data come from distributions on a few points, so that the risk of any weights is a finite sum and the best weights
in the ball are known to 1e-10. Learners use the step sizes of their theorems and all assumptions of them: no warm
start, the theorem's epsilon, no floor. A run's excess risk is that of its averaged weights, on the loss (w.x - y)^2 /
2. A bound above the excess risk of zero weights is trivial. Prints a Markdown table.
"""

import argparse
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track

from sparing import learners
from sparing.geometry import half_norm

RADIUS = 1.5


class Points(NamedTuple):
    """A distribution on finitely many examples: |x| <= 1 (2-norm for ridge, largest entry for lasso), |y| <= B."""

    X: np.ndarray
    y: np.ndarray
    chances: np.ndarray
    penalty: str

    @property
    def second_moments(self) -> np.ndarray:
        return self.chances @ self.X**2

    def risk(self, w) -> float:
        """E[(w.x - y)^2] / 2, exactly."""
        return float(self.chances @ (self.X @ w - self.y) ** 2 / 2)

    def gradient(self, w) -> np.ndarray:
        return self.X.T @ (self.chances * (self.X @ w - self.y))

    def draw(self, n_examples, seed):
        """Independent examples."""
        rows = np.random.default_rng(seed).choice(len(self.y), size=n_examples, p=self.chances)
        return self.X[rows], self.y[rows]


def make_points(kind, d, penalty, seed=0) -> Points:
    """Hard data of three kinds.

    "aligned": one direction and constant targets, so that doing nothing is as bad as it can be. "noisy": targets of
    random sign, just biased enough to be worth learning. "steep": attributes that fall off as 1/i^2, where moments
    help most.
    """
    rng = np.random.default_rng([seed, d])
    n = 4 * d
    X = rng.choice([-1.0, 1.0], size=(n, d))
    w = rng.choice([-1.0, 1.0], size=d)
    if kind == "aligned":
        X[:] = w * rng.choice([-1.0, 1.0], size=(n, 1))
    if kind == "steep":
        X *= np.arange(1, d + 1) ** -2.0 * (1 + 0.2 * rng.random((n, d)))
    X /= np.linalg.norm(X, axis=1, keepdims=True) if penalty == "ridge" else np.abs(X).max()
    y = RADIUS * np.sign(X @ w + 1e-9)
    if kind == "noisy":
        X, y, chances = np.vstack([X, X]), np.concatenate([y, -y]), np.repeat([0.8, 0.2], n) / n
    else:
        chances = rng.dirichlet(np.full(n, 5.0))
    return Points(X, y, chances / chances.sum(), penalty)


def project(w, penalty) -> np.ndarray:
    """The nearest weights in the ball."""
    if penalty == "ridge":
        return w * RADIUS / max(RADIUS, np.linalg.norm(w))
    if np.abs(w).sum() <= RADIUS:
        return w
    sizes = np.sort(np.abs(w))[::-1]
    thresholds = (np.cumsum(sizes) - RADIUS) / np.arange(1, w.size + 1)
    cut = thresholds[np.flatnonzero(sizes > thresholds)[-1]]
    return np.sign(w) * np.maximum(np.abs(w) - cut, 0.0)


def gap(points: Points, w) -> float:
    """A certificate: the risk of w is at most this much above the least in the ball (Frank & Wolfe's gap)."""
    g = points.gradient(w)
    return float(g @ w + RADIUS * np.linalg.norm(g, 2 if points.penalty == "ridge" else np.inf))


def best_weights(points: Points, accuracy=1e-10) -> np.ndarray:
    """The least risk in the ball, by projected gradient steps with momentum that starts anew when it misleads."""
    step = 1 / np.linalg.eigvalsh(points.X.T * points.chances @ points.X)[-1]
    w = ahead = np.zeros(points.X.shape[1])
    age = 1.0
    for _ in range(200_000):
        new = project(ahead - step * points.gradient(ahead), points.penalty)
        if gap(points, new) < accuracy:
            return new
        age = 1.0 if (ahead - new) @ (new - w) > 0 else (1 + np.sqrt(1 + 4 * age**2)) / 2
        ahead = new + (1 - 1 / age) * (new - w)
        w = new
    raise RuntimeError(f"no weights within {accuracy} of the optimum after 200,000 steps")


def two_phased(**more):
    return {"warm_start": False, "epsilon": "theory", "floor": 0} | more


THEOREMS = {
    "AERR": ("AERR", lambda points: {}),
    "DDAERR": ("DDAERR", lambda points: {"second_moments": points.second_moments}),
    "DDAERR, even split": ("DDAERR", lambda points: {"second_moments": points.second_moments, "split": "even"}),
    "two-phased, H known": (
        "TwoPhasedDDAERR",
        lambda points: two_phased(half_norm=float(half_norm(points.second_moments))),
    ),
    "two-phased, H unknown": ("TwoPhasedDDAERR", lambda points: two_phased()),
    "online ridge": ("OnlineRidge", lambda points: {}),
    "AELR": ("AELR", lambda points: {}),
    "DDAELR": ("DDAELR", lambda points: {"second_moments": points.second_moments}),
    "two-phased lasso": ("TwoPhasedDDAELR", lambda points: two_phased()),
    "online lasso": ("OnlineLasso", lambda points: {}),
}


def penalty_of(theorem) -> str:
    return getattr(learners, THEOREMS[theorem][0]).penalty


class Measured(NamedTuple):
    """Excess risk over the bound: mean and standard error over runs; and the bound over the zero weights' excess."""

    ratio: float
    error: float
    bound_over_zero: float


def measure(theorem, points: Points, budget, n_examples, runs) -> Measured:
    """Many runs, each on its own examples. The bound may depend on a run's phase one, so ratios are averaged."""
    name, options = THEOREMS[theorem]
    learner = getattr(learners, name)
    few = {} if learner.reads_everything else {"budget": budget}
    least = points.risk(best_weights(points))
    ratios, bounds = [], []
    for seed in range(runs):
        model = learner(points.X.shape[1], radius=RADIUS, random_state=seed, **few, **options(points))
        model.run(*points.draw(n_examples, [seed, n_examples]))
        bounds.append(model.bound)
        ratios.append((points.risk(model.coef) - least) / model.bound)
    nothing = points.risk(np.zeros(points.X.shape[1])) - least
    return Measured(np.mean(ratios), np.std(ratios, ddof=1) / np.sqrt(runs), np.mean(bounds) / nothing)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer runs, fewer settings")
    quick = parser.parse_args().quick
    runs = 20 if quick else 50
    sizes = [(8, 3, 50_000)] if quick else [(8, 3, 1_000), (8, 3, 50_000), (16, 5, 50_000), (16, 16, 5_000)]
    cases = [(size, kind, theorem) for size in sizes for kind in ("aligned", "noisy", "steep") for theorem in THEOREMS]
    print(f"Radius {RADIUS}, {runs} runs each.\n")
    print("| d | b | m | data | learner | measured / bound | bound / zero's excess |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    worst = 0.0
    for (d, budget, m), kind, theorem in track(cases, console=Console(stderr=True), transient=True):
        found = measure(theorem, make_points(kind, d, penalty_of(theorem)), budget, m, runs)
        worst = max(worst, found.ratio + 3 * found.error)
        ratio = f"{found.ratio:.4f} ± {found.error:.4f}"
        print(f"| {d} | {budget} | {m:,} | {kind} | {theorem} | {ratio} | {found.bound_over_zero:.2f} |", flush=True)
    print(f"\nLargest mean + 3 standard errors: {worst:.3f} (a theorem would fail at 1).")


if __name__ == "__main__":
    main()
