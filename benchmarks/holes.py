"""What holes in a table do to a model of it, by how they came about: at random, or not.

    python benchmarks/holes.py              # some minutes
    python benchmarks/holes.py --seeds 3

Simulated tables of 10 correlated columns, 1,000 rows to learn from and 1,000 whole rows to judge by. In each column but
the first two, 30 % of the values of the training rows are missing: completely at random; more often where the first
column, which is always there, is large (at random given what is seen); or where the value itself is large. R² on whole
rows, mean ± standard deviation over the seeds: of BudgetRidge(budget=None), of the same with lines only, of ridge
regression on rows filled with means, and on the rows without a hole. Prints Markdown.
"""

import argparse

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline

from sparing import BudgetRidge

ROWS, COLUMNS, MISSING = 1_000, 10, 0.3
STEEP = 4.0  # by how much the odds of a hole grow with a standard deviation


def simulated(rng):
    """Rows of a few common factors, and a target."""
    loadings, weights = rng.standard_normal((3, COLUMNS)), rng.standard_normal(COLUMNS)
    X = rng.standard_normal((2 * ROWS, 3)) @ loadings + rng.standard_normal((2 * ROWS, COLUMNS))
    signal = X @ weights
    return X, signal + signal.std() * rng.standard_normal(2 * ROWS) / 2.0


def holes(X, why: str, rng) -> np.ndarray:
    """Which values are missing: those whose scores are largest, with some luck."""
    scores = rng.logistic(size=X.shape)
    if why != "completely at random":
        causes = X[:, :1] if why == "given what is seen" else X
        scores = scores + STEEP * (causes - causes.mean(axis=0)) / causes.std(axis=0)
    gone = scores > np.quantile(scores, 1.0 - MISSING, axis=0)
    gone[:, :2] = False
    return gone


def results(seed: int, why: str) -> list[float]:
    """R² of the four models on whole rows."""
    rng = np.random.default_rng(seed)
    X, y = simulated(rng)
    train = np.where(holes(X[:ROWS], why, rng), np.nan, X[:ROWS])
    whole = np.isfinite(train).all(axis=1)
    ridge = RidgeCV(alphas=np.logspace(-2, 4, 13))
    models = [
        BudgetRidge(None, random_state=seed).fit(train, y[:ROWS]),
        BudgetRidge(None, features="linear", random_state=seed).fit(train, y[:ROWS]),
        make_pipeline(SimpleImputer(), ridge).fit(train, y[:ROWS]),
        RidgeCV(alphas=ridge.alphas).fit(train[whole], y[:ROWS][whole]),
    ]
    return [r2_score(y[ROWS:], model.predict(X[ROWS:])) for model in models]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    seeds = parser.parse_args().seeds
    names = "`BudgetRidge(None)`", 'the same, `features="linear"`', "filled with means", "rows without a hole"
    print(f"| values are missing | {' | '.join(names)} |\n| --- | --- | --- | --- | --- |")
    for why in ("completely at random", "given what is seen", "where they are large"):
        found = np.array([results(seed, why) for seed in range(seeds)])
        cells = [
            f"{mean:.3f} ± {spread:.3f}" for mean, spread in zip(found.mean(axis=0), found.std(axis=0), strict=True)
        ]
        print(f"| {why} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
