"""OnlineRegressor and OnlineClassifier with their defaults: one pass over standardised tables.

    SPARING_DATA=folder python benchmarks/online_steps.py [--splits 3] [--rows 2500]

Tables of benchmarks/tables.py, attributes and targets standardised by the training rows; a third of the rows, at most
2,000, for the test. Shown are R² (accuracy for classes) of the defaults, of step size 1, which was the default before,
and of ridge (logistic) regression on the same rows, ± the standard error over splits.

The range of the automatic steps is chosen by leaving one table out: of all ranges of five powers of four, the one whose
defaults do best on the other tables, with the number of tables for which each range is chosen. Prints Markdown tables.
"""

import argparse
from collections import Counter
from unittest.mock import patch

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.preprocessing import StandardScaler
from tables import RIDGES, UCI, load, split

from sparing import OnlineClassifier, OnlineRegressor

REGRESSION = (*UCI, "diabetes")
CLASSES = {"breast_cancer": load_breast_cancer, "digits": load_digits, "wine": load_wine}
POWERS = range(-6, 3)  # of four
LENGTH = 5


def regression(name, seed, most_rows):
    """Standardised training and test rows."""
    X, y = load(name)
    X, y, X_test, y_test = split(X, y, seed, most_rows)
    scaler, target = StandardScaler().fit(X), StandardScaler().fit(y[:, None])
    y, y_test = (target.transform(values[:, None])[:, 0] for values in (y, y_test))
    return scaler.transform(X), y, scaler.transform(X_test), y_test


def classes(name, seed, most_rows):
    X, y, X_test, y_test = split(*CLASSES[name](return_X_y=True), seed, most_rows)
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), y, scaler.transform(X_test), y_test


def by_power(X, y, X_test, y_test):
    """For every power of four as the only factor: mean online loss, and R²."""
    found = []
    for power in POWERS:
        with patch("sparing.estimators.adagrad.FACTORS", (4.0**power,)):
            model = OnlineRegressor(random_state=0).fit(X, y)
        found.append((model.online_loss_, model.score(X_test, y_test)))
    return np.array(found).T


def leave_one_out(tables) -> None:
    """``tables`` holds losses and R² by power, a table an entry."""
    ranges = [slice(first, first + LENGTH) for first in range(len(POWERS) - LENGTH + 1)]
    scores = np.array([[r2[part][np.argmin(loss[part])] for part in ranges] for loss, r2 in tables])
    chosen = [int(np.delete(scores, table, axis=0).mean(axis=0).argmax()) for table in range(len(scores))]
    print("\n| range | mean R² | chosen without one table |\n| --- | --- | --- |")
    for number, part in enumerate(ranges):
        powers = POWERS[part]
        print(f"| 4^{powers[0]} to 4^{powers[-1]} | {scores[:, number].mean():.3f} | {Counter(chosen)[number]} |")


def show(name, rows, scores) -> None:
    scores = np.array(scores)
    errors = scores.std(axis=0, ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else 0 * scores[0]
    cells = " | ".join(f"{mean:.3f} ± {error:.3f}" for mean, error in zip(scores.mean(axis=0), errors, strict=True))
    print(f"| {name} | {rows} | {cells} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rows", type=int, default=2500)
    options = parser.parse_args()
    kinds = (
        ("ridge", REGRESSION, regression, OnlineRegressor, lambda: RidgeCV(RIDGES)),
        ("logistic regression", CLASSES, classes, OnlineClassifier, lambda: LogisticRegression(max_iter=5000)),
    )
    trials = []
    for rival, names, prepare, online, offline in kinds:
        print(f"\n| table | rows | defaults | step size 1 | {rival} |\n| --- | --- | --- | --- | --- |")
        for name in names:
            scores = []
            for seed in range(options.splits):
                X, y, *test = prepare(name, seed, options.rows)
                models = online(random_state=0), online(step_size=1.0, random_state=0), offline()
                scores.append([model.fit(X, y).score(*test) for model in models])
                if online is OnlineRegressor and seed == 0:
                    trials.append(by_power(X, y, *test))
            show(name, len(y), scores)
    leave_one_out(trials)


if __name__ == "__main__":
    main()
