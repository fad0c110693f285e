"""How often intervals of BudgetRidge hold the target, for rows known in part.

    SPARING_DATA=folder python benchmarks/coverage.py [--splits 10] [--rows 600] [--fresh] [--output coverage.csv]

Twelve tables of the UCI repository (``tables/`` of the data folder) and scikit-learn's diabetes, or with ``--fresh``
the tables of ``fresh_tables.py``: at most ``--rows`` rows to learn from, of which a quarter of the columns (3 at least)
are bought; up to 2,000 others for the test, of which all, a random half, a random fifth or none of the values are
known. Prints the part of targets within intervals of nominal 50, 90 and 95 %, averaged over splits, and the root mean
squared error over the predicted one.
"""

import argparse
import csv
import warnings

import fresh_tables
import numpy as np
import tables

from sparing import BudgetRidge

TABLES = ("airfoil", "autos", "bike", "concrete", "elevators", "energy", "gas", "housing", "parkinsons", "skillcraft",
          "stock", "wine", "diabetes")  # fmt: skip
KNOWN = {"whole rows": 1.0, "half": 0.5, "a fifth": 0.2, "nothing": 0.0}
NOMINAL = (0.5, 0.9, 0.95)


def measure(name, seed, rows):
    """Coverage at each nominal level, and the ratio of errors to standard deviations, by what is known."""
    X, y = (fresh_tables if "/" in name else tables).load(name)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    n = min(rows, 2 * len(y) // 3)
    train, test = order[:n], order[n : n + 2000]
    model = BudgetRidge(budget=max(3, X.shape[1] // 4), random_state=seed).fit(X[train], y[train])
    for known, part in KNOWN.items():
        seen = np.where(rng.random((len(test), X.shape[1])) < part, X[test], np.nan)
        prediction, std = model.predict(seen, return_std=True)
        ratio = np.sqrt(np.mean((y[test] - prediction) ** 2) / np.mean(std**2))
        ends = [model.predict_interval(seen, nominal) for nominal in NOMINAL]
        yield known, [float(np.mean((low <= y[test]) & (y[test] <= high))) for low, high in ends], float(ratio)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--fresh", action="store_true", help="the tables of fresh_tables.py instead")
    parser.add_argument("--output", default=None)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    found = []
    for name in fresh_tables.TARGETS if arguments.fresh else arguments.tables.split(","):
        runs = [list(measure(name, seed, arguments.rows)) for seed in range(arguments.splits)]
        for results in zip(*runs, strict=True):
            covered = np.mean([covered for _, covered, _ in results], axis=0)
            ratio = np.mean([ratio for *_, ratio in results])
            found.append([name, results[0][0], *covered.round(4), round(float(ratio), 3)])
            print(f"{name:26} {results[0][0]:12}", *(f"{100 * c:6.1f}" for c in covered), f"{ratio:8.2f}", flush=True)
    away = np.abs(np.array([row[2:5] for row in found]) - NOMINAL)
    within = (away <= 0.04).all(axis=1).reshape(-1, len(KNOWN))  # table by what is known
    print(f"within 4 points of the nominal coverage: {int((away <= 0.04).sum())} of {away.size}")
    print(f"tables within it wherever values are missing: {within[:, 1:].all(axis=1).sum()} of {len(within)}")
    print(f"the same, and for whole rows: {within.all(axis=1).sum()}")
    if arguments.output:
        with open(arguments.output, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["table", "known", *(f"{nominal:g}" for nominal in NOMINAL), "error_over_std"])
            writer.writerows(found)


if __name__ == "__main__":
    main()
