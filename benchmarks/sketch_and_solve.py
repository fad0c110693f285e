"""Does sampling by leverage beat a uniform sample of the same size?

    python benchmarks/sketch_and_solve.py [--repetitions 20]

Sketch-and-solve is ridge regression on m of n rows, sampled uniformly or by ridge leverage scores (and reweighted).
Agarwal & Gonen (section 1.1) say that for bounded, independent examples the scores are of no use: a uniform sample of
the same size has the same excess risk. The first two tables have such data, 20,000 rows; the excess risk is that over
the best weights. In "one attribute per row" leverages differ a lot, in "all rows alike" hardly. In the third table 60
of 8,192 rows carry 60 of the 100 directions, and the excess is that of the objective on *these* rows, relative to its
minimum: not a statistical question, and there the scores matter. All figures are means with standard errors. The last
line of a table is for a sample of the smallest m as a preconditioner: 10 conjugate gradient steps. Prints Markdown.
"""

import argparse

import numpy as np

from sparing.geometry import ridge_leverage_scores
from sparing.geometry.leverage import draw
from sparing.linalg.inverses import RidgeInverse
from sparing.linalg.rows import Rows
from sparing.solvers.conjugate import conjugate_gradients

SIZES = 200, 400, 800, 1_600, 3_200
D = 100


def alike(rng, n=20_000):
    """Bounded, independent examples: predictions and targets lie within [-1, 1], as Example 1 asks."""
    spectrum = np.arange(1.0, D + 1) ** -2
    spectrum /= spectrum.sum()
    best = np.sqrt(spectrum) * rng.choice([-1.0, 1.0], D)
    X = rng.choice([-1.0, 1.0], (n, D)) * np.sqrt(spectrum)
    y = np.where(rng.random(n) < (1 + X @ best) / 2, 1.0, -1.0)
    return X, y, 1e-3, lambda w: 0.5 * np.sum(spectrum * (w - best) ** 2)


def single(rng, n=20_000):
    """The same with one attribute per row, whose leverage is about proportional to l / (l + ridge)."""
    spectrum = np.arange(1.0, D + 1) ** -2
    attribute, size = rng.integers(D, size=n), np.sqrt(D * spectrum)
    best = 0.9 * rng.choice([-1.0, 1.0], D) * np.sqrt(spectrum / D) / spectrum[0]
    X = np.zeros((n, D))
    X[np.arange(n), attribute] = size[attribute]
    y = np.where(rng.random(n) < (1 + X @ best) / 2, 1.0, -1.0)
    return X, y, 1e-3, lambda w: 0.5 * np.sum(spectrum * (w - best) ** 2)


def uneven(rng, n=8_192):
    """60 rows that nothing else resembles, among rows of 40 other directions."""
    X = np.zeros((n, D))
    X[:, :40] = rng.standard_normal((n, 40))
    X[rng.choice(n, 60, replace=False)] = 30.0 * np.eye(D)[40:]
    y = X @ rng.standard_normal(D) + rng.standard_normal(n)
    ridge = 1e-3

    def objective(w):
        return 0.5 * np.mean((X @ w - y) ** 2) + 0.5 * ridge * w @ w

    best = objective(solve(X, y, np.ones(n), ridge))
    return X, y, ridge, lambda w: objective(w) / best - 1


def solve(X, y, weights, ridge):
    """Weighted ridge regression with the ridge on the weighted mean loss over all n rows."""
    n = weights.sum()
    return np.linalg.solve((X.T * weights) @ X / n + ridge * np.eye(X.shape[1]), X.T @ (weights * y) / n)


def measure(make, rng):
    """The excess by kind and size: uniform, leverage, preconditioned; and that of all rows."""
    X, y, ridge, excess = make(rng)
    n = len(X)
    scores = ridge_leverage_scores(X / np.sqrt(n), ridge)
    found = {"all": [excess(solve(X, y, np.ones(n), ridge))], "uniform": [], "leverage": [], "precondition": []}
    for m in SIZES:
        for name, by in (("uniform", np.ones(n)), ("leverage", scores)):
            sample = draw(by, m, rng)
            chosen = sample.indices
            found[name].append(excess(solve(X[chosen], y[chosen], sample.factors**2 * m / n, ridge)))
    sample = draw(scores, SIZES[0], rng)
    rows = Rows(X / np.sqrt(n))
    inverse = RidgeInverse(rows.take(sample.indices, sample.factors), ridge)
    right = rows.transposed(y[:, None] / np.sqrt(n))
    steps = conjugate_gradients(
        lambda V: rows.normal(V) + ridge * V, right, inverse, enough=lambda energy, _: energy < 0, max_iter=10
    )
    found["precondition"].append(excess(steps.point[:, 0]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=20)
    repetitions = parser.parse_args().repetitions
    tables = {
        "all rows alike: excess risk": alike,
        "one attribute per row: excess risk": single,
        "60 rows that matter: excess": uneven,
    }
    for title, make in tables.items():
        runs = [measure(make, np.random.default_rng(seed)) for seed in range(repetitions)]
        mean = {name: np.mean([run[name] for run in runs], axis=0) for name in runs[0]}
        error = {name: np.std([run[name] for run in runs], axis=0) / np.sqrt(repetitions) for name in runs[0]}
        print(f"\n| {title} | uniform | leverage | uniform / leverage |\n| --- | --- | --- | --- |")
        for j, m in enumerate(SIZES):
            one, other = ((mean[name][j], error[name][j]) for name in ("uniform", "leverage"))
            cells = f"{one[0]:.2g} ± {one[1]:.1g} | {other[0]:.2g} ± {other[1]:.1g} | {one[0] / other[0]:.2f}"
            print(f"| {m:,} rows | {cells} |")
        print(f"\nAll rows: {mean['all'][0]:.2g}; {SIZES[0]} rows as a preconditioner: {mean['precondition'][0]:.2g}")


if __name__ == "__main__":
    main()
