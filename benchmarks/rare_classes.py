"""Recall of rare classes from a few bought values per row, against logistic regression on whole rows.

    SPARING_DATA=folder python benchmarks/rare_classes.py [--seeds 8] [--first 8] [--features linear]
        [--sets normal,skewed]

One example in a hundred (or as many as the data set has) is positive. ``BudgetClassifier`` buys 5 values of each row,
``LogisticRegression`` sees all. Both are judged on whole test rows: recall of the rare class, precision, and balanced
accuracy, means ± standard errors over seeds (new rows, new looks). Linear discriminant analysis on whole rows is what
``BudgetClassifier`` with features="linear" aims at. Lines are without weights of classes and with "balanced" ones: as
BudgetClassifier has them (odds of classes are moved), and by weights of examples, which it does not use.
"""

import argparse
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_score, recall_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_sample_weight

from sparing import BudgetClassifier
from sparing.datasets import load_covertype, load_medical, load_mnist_pair

RARE = 0.01


def normal(rng, spread=None):
    """Two normal classes with one covariance; with ``spread``, one of its own for the rare class."""
    n, d = 12_000, 12
    y = rng.random(n) < RARE
    mixing = np.random.default_rng(0).standard_normal((d, d)) / np.sqrt(d) + np.eye(d)
    noise = rng.standard_normal((n, d))
    noise[y] *= 1.0 if spread is None else spread
    return (noise + np.outer(y, np.linspace(1.5, 0.0, d))) @ mixing.T, y


def skewed(rng):
    """A logistic model of attributes with heavy tails on one side."""
    n, d = 12_000, 12
    X = rng.exponential(size=(n, d)) + 0.5 * rng.exponential(size=(n, 1))
    z = X @ np.linspace(1.0, 0.0, d) + rng.logistic(size=n)
    return X, z > np.quantile(z, 1 - RARE)


def thinned(X, y, rng, rare=RARE):
    """Rows among which positives are as rare."""
    positive, negative = np.flatnonzero(y), np.flatnonzero(~y)
    n = min(positive.size, round(rare / (1 - rare) * negative.size))
    kept = rng.permutation(np.r_[negative, rng.choice(positive, n, replace=False)])
    return X[kept], y[kept]


def breast_cancer(rng):
    X, y = load_breast_cancer(return_X_y=True)
    return thinned(X, y == 0, rng, 0.05)


def thyroid(rng):
    data = load_medical("thyroid")
    return thinned(np.nan_to_num(data.data), data.target > 0, rng, 0.02)


def covertype(rng):
    data = load_covertype()
    X, y = thinned(data.data, data.target > 0, rng)
    return X[:12_000], y[:12_000]


def mnist(rng):
    data = load_mnist_pair(3, 5, subset="all")
    pixels = data.data.reshape(-1, 28, 28)[:, ::2, ::2].reshape(len(data.target), -1)
    return thinned(pixels.astype(float), data.target > 0, rng, 0.02)


SETS = {
    "normal": normal,
    "wider": lambda rng: normal(rng, 1.5),
    "skewed": skewed,
    "breast cancer": breast_cancer,
    "thyroid": thyroid,
    "covertype": covertype,
    "mnist": mnist,
}


def scores(model, X, y, **fit):
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = model.fit(X, y, **{name: weight(y) for name, weight in fit.items()}).predict(X_test)
    recall, specificity = recall_score(y_test, found), recall_score(~y_test, ~found)
    return recall, precision_score(y_test, found, zero_division=0), (recall + specificity) / 2


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first", type=int, default=8, help="the first seed; earlier ones set the rules")
    parser.add_argument("--features", default="linear")
    parser.add_argument("--sets", default=",".join(SETS))
    options = parser.parse_args()
    print(f"{'data':14}{'model':28}{'recall':>14}{'precision':>14}{'balanced':>14}")
    for name in options.sets.split(","):
        lines: dict[str, list] = {}
        for seed in range(options.first, options.first + options.seeds):
            X, y = SETS[name](np.random.default_rng(seed))
            ours = {"budget": 5, "random_state": seed, "features": options.features}
            logistic = [
                make_pipeline(StandardScaler(), LogisticRegression(class_weight=weight))
                for weight in (None, "balanced")
            ]
            for label, model, fit in [
                ("logistic, whole rows", logistic[0], {}),
                ("discriminant, whole rows", LinearDiscriminantAnalysis(), {}),
                ("budget", BudgetClassifier(**ours), {}),
                ("logistic, balanced", logistic[1], {}),
                ("discriminant, balanced", LinearDiscriminantAnalysis(priors=[0.5, 0.5]), {}),
                ("budget, balanced", BudgetClassifier(class_weight="balanced", **ours), {}),
                ("budget, balanced examples", BudgetClassifier(**ours),
                 {"sample_weight": lambda y: compute_sample_weight("balanced", y)}),
            ]:  # fmt: skip
                lines.setdefault(label, []).append(scores(model, X, y, **fit))
        for label, found in lines.items():
            error = np.std(found, axis=0) / np.sqrt(max(options.seeds - 1, 1))
            shown = "".join(f"{m:8.3f}±{e:.3f}" for m, e in zip(np.mean(found, axis=0), error, strict=True))
            print(f"{name:14}{label:28}{shown}", flush=True)


if __name__ == "__main__":
    main()
