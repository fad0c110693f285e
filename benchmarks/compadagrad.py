"""What CompAdaGrad gains on the paper's data, and its regret compared with Theorems 1 to 3.

    SPARING_DATA=folder python benchmarks/compadagrad.py [mnist] [rcv1] [regret] [--quick]

mnist: 400 Gaussian features, one pass over 11,791 examples; every draw has new prototypes, order and sketch. The
options were chosen by a coordinate search on other draws. rcv1: all stories, batches of 160, one setting, not tuned.
regret: correlated rows of low rank, and random ones; the comparator is the best fixed weight vector in hindsight. Gaps
are paired differences to the diagonal method; ± is one standard error. Prints Markdown tables; "regret" needs no data
files.
"""

import argparse
from typing import NamedTuple

import numpy as np
from scipy import optimize

from sparing import OnlineClassifier
from sparing.experiments.compadagrad import Outcome, mnist_four_nine, reuters
from sparing.optim.prediction_losses import LOSSES

MNIST = {
    "diagonal": {"optimizer": "diagonal", "step_size": 1.0, "delta": 1e-6},
    "CompAdaGrad 25": {"k": 25, "step_size": 1.0, "delta": 1e-4},
    "CompAdaGrad 64": {"k": 64, "step_size": 1.0, "delta": 1e-3},
    "CompAdaGrad 128": {"k": 128, "step_size": 1.0, "delta": 1e-4},
    "CompAdaGrad 256": {"k": 256, "step_size": 1.0, "delta": 1e-3, "tau": 3.2},
    "RadaGrad 64": {"optimizer": "sketched", "k": 64, "step_size": 1.0, "delta": 1e-4},
    "RadaGrad 256": {"optimizer": "sketched", "k": 256, "step_size": 1.0, "delta": 1e-4},
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


LENGTH = 1e-3  # a penalty on the comparator, or a few lucky directions would make it endless


class Game(NamedTuple):
    """Rows and labels, and the best weights in hindsight that are not endless."""

    X: np.ndarray
    y: np.ndarray
    best: np.ndarray


def make_game(kind, seed, n=64, rounds=1000) -> Game:
    """A logistic game. Rows of "low rank" lie near four directions, of sizes 1 to 1/27, that all coordinates share.

    The log-odds of the labels weigh all directions alike.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rounds, n))
    odds = X @ rng.standard_normal(n) / np.sqrt(n)
    if kind == "low rank":
        factors = rng.standard_normal((rounds, 4))
        X = 0.001 * X + factors * 3.0 ** -np.arange(4) @ rng.standard_normal((4, n))
        odds = factors.sum(axis=1) / 2
    X /= np.linalg.norm(X, axis=1).mean()
    y = np.where(rng.random(rounds) < 1 / (1 + np.exp(-4 * odds)), 1, -1)
    value, slope = LOSSES["logistic"]
    best = optimize.minimize(
        lambda w: value(X @ w, y).sum() + LENGTH * w @ w,
        np.zeros(n),
        jac=lambda w: X.T @ slope(X @ w, y) + 2 * LENGTH * w,
        method="BFGS",
    )
    return Game(X, y, best.x)


def regrets(games, **options) -> np.ndarray:
    """Regret against the best weights, and its bound, a row a game."""
    found = []
    for X, y, best in games:
        model = OnlineClassifier(fit_intercept=False, random_state=0, **options).fit(X, y)
        model.coef_ = best[None]  # the bound is one against these
        loss = LOSSES["logistic"].value(X @ best, y).sum()
        found.append((model.online_loss_ * len(y) - loss, model.regret_bound_))
    return np.array(found)


def show_regret(n_games) -> None:
    """Every method at the best of a few step sizes, chosen on four other games."""
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
        games, trials = ([make_game(kind, start + seed) for seed in range(n)] for start, n in ((0, n_games), (1000, 4)))
        base = np.zeros(n_games)
        for name, options in methods.items():
            steps = (0.1, 0.3, 1.0, 3.0)
            tried = [regrets(trials, step_size=step, **options)[:, 0].mean() for step in steps]
            step = steps[int(np.argmin(tried))]
            regret, bound = regrets(games, step_size=step, **options).T
            base = regret if name == "diagonal" else base
            columns = " | ".join(summary(values / 100) for values in (regret, regret - base))
            print(f"| {kind} | {name} | {step} | {columns} | {(regret / bound).max():.4f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", nargs="*", default=["mnist", "rcv1", "regret"])
    parser.add_argument("--quick", action="store_true", help="two draws instead of five, four games instead of twelve")
    options = parser.parse_args()
    seeds = range(1, 3 if options.quick else 6)
    for table in options.table:
        print(f"\n## {table}\n")
        if table == "mnist":
            show(mnist_four_nine, MNIST, seeds)
        elif table == "rcv1":
            show(reuters, RCV1, seeds)
        else:
            show_regret(4 if options.quick else 12)


if __name__ == "__main__":
    main()
