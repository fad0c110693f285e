"""What CompAdaGrad gains on the paper's data, and its regret beside Theorems 1 to 3.

    SPARING_DATA=folder python benchmarks/compadagrad.py [mnist] [rcv1] [regret] [--quick]

mnist: 400 Gaussian features, one pass over 11,791 examples; a draw is one of prototypes, order and sketch. The options
are those that a coordinate search on other draws preferred. rcv1: all stories, batches of 160, one setting, not tuned.
regret: correlated rows of low rank, and random ones; the comparator is the best in hindsight. Gaps are to the diagonal
method, draw by draw; ± is one standard error. Prints Markdown tables; "regret" needs no data files.
"""

import argparse

import numpy as np
from scipy import optimize

from sparing import OnlineClassifier
from sparing.experiments.compadagrad import Outcome, mnist_four_nine, reuters
from sparing.optim.losses import LOSSES

MNIST = {
    "diagonal": {"optimizer": "diagonal", "step_size": 1.0, "delta": 1e-6},
    "CompAdaGrad 25": {"k": 25, "delta": 1e-4},
    "CompAdaGrad 64": {"k": 64, "delta": 1e-3},
    "CompAdaGrad 128": {"k": 128, "delta": 1e-4},
    "CompAdaGrad 256": {"k": 256, "delta": 1e-3, "tau": 3.2},
    "RadaGrad 64": {"optimizer": "sketched", "k": 64, "delta": 1e-4},
    "RadaGrad 256": {"optimizer": "sketched", "k": 256, "delta": 1e-4},
    "full matrix": {"optimizer": "full", "step_size": 3.2, "delta": 1e-2},
}
RCV1 = {
    "diagonal": {"optimizer": "diagonal", "step_size": 0.3, "delta": 1e-4},
    "CompAdaGrad 64": {"k": 64, "step_size": 0.3},
    "CompAdaGrad 512": {"k": 512, "step_size": 0.3},
}


def summary(values) -> str:
    """Mean and standard error, in per cent."""
    values = 100 * np.asarray(values)
    error = f" ± {values.std(ddof=1) / np.sqrt(values.size):.2f}" if values.size > 1 else ""
    return f"{values.mean():.2f}{error}"


def show(experiment, methods, seeds) -> None:
    """One row a method: errors in per cent, and the online gap to the first method."""
    draws = []
    for seed in seeds:
        draws.append(experiment(methods, seed=seed))
        print(f"<!-- draw {seed} done -->", flush=True)
    print("\n| method | online error | gap to diagonal | online loss × 100 | test error, averaged | test error, last |")
    print("| --- | --- | --- | --- | --- | --- |")
    base = next(iter(methods))
    for name in methods:
        found = Outcome(*np.array([draw[name] for draw in draws]).T)
        gap = found.online_error - np.array([draw[base].online_error for draw in draws])
        columns = [found.online_error, gap, found.online_loss, found.averaged_error, found.final_error]
        print(f"| {name} | {' | '.join(map(summary, columns))} |", flush=True)


def make_game(kind, seed, n=64, rounds=1000):
    """Rows of logistic games: "low rank" ones lie near four directions that all coordinates share."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rounds, n))
    if kind == "low rank":
        X = 0.05 * X + rng.standard_normal((rounds, 4)) @ rng.standard_normal((4, n))
    X /= np.linalg.norm(X, axis=1).mean()
    chances = 1 / (1 + np.exp(-4 * X @ rng.standard_normal(n)))
    return X, np.where(rng.random(rounds) < chances, 1, -1)


def regret_of(options, X, y) -> tuple[float, float]:
    """Regret against the best weights in hindsight that are not long (a penalty |w|^2 on the sum), and its bound."""
    model = OnlineClassifier(fit_intercept=False, random_state=0, **options).fit(X, y)
    value, slope = LOSSES["logistic"]
    best = optimize.minimize(
        lambda w: value(X @ w, y).sum() + w @ w,
        np.zeros(X.shape[1]),
        jac=lambda w: X.T @ slope(X @ w, y) + 2 * w,
        method="BFGS",
    ).x
    model.coef_ = best[None]  # the bound is one against these
    return model.online_loss_ * len(y) - value(X @ best, y).sum(), model.regret_bound_


def show_regret(seeds) -> None:
    """Every method at the best of a few step sizes, chosen on another draw."""
    methods = {
        "diagonal": {"optimizer": "diagonal"},
        "CompAdaGrad 8": {"k": 8},
        "CompAdaGrad 16": {"k": 16},
        "CompAdaGrad 32": {"k": 32},
        "full matrix": {"optimizer": "full"},
    }
    print("| data | method | step | regret | gap to diagonal | regret / bound, largest |")
    print("| --- | --- | --- | --- | --- | --- |")
    for kind in ("low rank", "random"):
        games = [make_game(kind, seed) for seed in seeds]
        trial = make_game(kind, 1000)
        base = np.zeros(len(games))
        for name, options in methods.items():
            tried = {step: regret_of({**options, "step_size": step}, *trial)[0] for step in (0.1, 0.3, 1.0, 3.0)}
            step = min(tried, key=tried.get)
            found = np.array([regret_of({**options, "step_size": step}, *game) for game in games])
            base = found[:, 0] if name == "diagonal" else base
            columns = " | ".join(summary(values / 100) for values in (found[:, 0], found[:, 0] - base))
            ratio = (found[:, 0] / found[:, 1]).max()
            print(f"| {kind} | {name} | {step} | {columns} | {ratio:.4f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", nargs="*", default=["mnist", "rcv1", "regret"])
    parser.add_argument("--quick", action="store_true", help="two draws instead of five, four games instead of twenty")
    options = parser.parse_args()
    seeds = range(1, 3 if options.quick else 6)
    for table in options.table:
        print(f"\n## {table}\n")
        if table == "mnist":
            show(mnist_four_nine, MNIST, seeds)
        elif table == "rcv1":
            show(reuters, RCV1, seeds)
        else:
            show_regret(range(4 if options.quick else 20))


if __name__ == "__main__":
    main()
