"""Test error of keeping learners at the spends of the papers' experiments.

    SPARING_DATA=folder python benchmarks/keeping.py [mnist] [covertype] [simulated] [small] [rare]
        [--seeds 10] [--quick] [--auto-only]

Every learner chooses its settings from what it bought. Nothing is chosen on test data, except for DDAERR, which has the
exact second moments and the radius and step size that are best on the test data. On the simulated data the result
depends on where a learner looks, so keeping learners are measured without second moments and ("told") with the same
ones. Small data sets (of scikit-learn, and medical ones with missing values filled with means) are tested on a third of
the examples. "rare" has 40 columns that are 1 in one per cent of the rows and 0 in the others. Scores are test squared
errors relative to that of the zero predictor: mean ± standard deviation over seeds, each with a new order of the rows
and new looks.
"""

import argparse
import warnings
from functools import partial
from itertools import product

import numpy as np
import sklearn.datasets
from sklearn.linear_model import RidgeCV

from sparing.datasets import load_covertype, load_medical, load_mnist_pair, make_power_law, scale_max_abs
from sparing.geometry import second_moments
from sparing.learners import DDAERR, AutoLearner, MeanImputed
from sparing.models.selection import affordable_families, select

SETTINGS = {
    "mnist": [(57, 1_076), (57, 3_228), (57, 10_763), (5, 10_763)],
    "covertype": [(5, 2_000), (5, 10_000), (5, 96_000)],
    "simulated -1": [(5, 6_000), (5, 60_000)],
    "simulated -2": [(5, 6_000), (5, 60_000)],
    "rare": [(5, 4_000)],
    "small digits": [(6, 1_000)],
    "small breast_cancer": [(5, 370)],
    "small diabetes": [(3, 290)],
    "small wine": [(3, 118)],
    "small heart": [(3, 200)],
    "small pima": [(3, 500)],
    "small hepatitis": [(4, 100)],
    "small thyroid": [(4, 2_000)],
}


def load(name):
    """Training rows and targets, test rows and targets."""
    if name == "mnist":
        data = load_mnist_pair(3, 5, subset="all")
        train, pixels = data.in_train, data.data / 255.0
        return pixels[train], data.target[train], pixels[~train], data.target[~train]
    if name == "covertype":
        data = load_covertype(dtype=np.float32)
        X, _ = scale_max_abs(data.data)
        order = np.random.default_rng(12_345).permutation(len(data.target))
        train, test = order[100_000:], order[:100_000]
        return X[train], data.target[train], X[test].astype(float), data.target[test]
    if name.startswith("small"):
        return load_small(name.split()[1])
    if name == "rare":
        return load_rare()
    made = make_power_law(80_000, 500, float(name.split()[1]), random_state=7)
    return made.data[:60_000], made.target[:60_000], made.data[60_000:], made.target[60_000:]


def load_rare():
    """40 columns that are 1 in one per cent of the rows; a fifth of the targets' variance is noise."""
    rng = np.random.default_rng(1)
    X = np.where(rng.random((20_000, 40)) < 0.01, 1.0, 0.0)
    y = X @ rng.standard_normal(40)
    y = (y - y.mean()) / y.std() + 0.5 * rng.standard_normal(len(y))
    return X[:10_000], y[:10_000], X[10_000:], y[10_000:]


def load_small(name):
    """Standard attributes; of digits the target is whether they are odd."""
    made = getattr(sklearn.datasets, f"load_{name}", None)
    data = load_medical(name) if made is None else made()
    X, y = np.asarray(data.data, float), np.asarray(data.target, float)
    y = y % 2 if name == "digits" else y
    X, y = (X - np.nanmean(X, axis=0)) / np.maximum(np.nanstd(X, axis=0), 1e-12), (y - y.mean()) / y.std()
    order = np.random.default_rng(1).permutation(len(y))
    train, test = order[len(y) // 3 :], order[: len(y) // 3]
    X = np.nan_to_num(X)
    return X[train], y[train], X[test], y[test]


def keepers(X, y, budget, seed, told=None, families=True):
    """The automatic choice of lines, that of lines, curves and trees, and, if wanted, each family alone: same cells."""
    options = {"budget": budget, "n_examples": len(y), "second_moments": told, "random_state": seed}
    learner = AutoLearner(X.shape[1], **options).run(X, y)
    cells = learner.bought.in_order()
    curves = AutoLearner(X.shape[1], features="auto", **options).fit_cells(learner.bought)
    models = {"lines": learner.fitted, "auto": curves.fitted}
    for family in affordable_families(cells) if families else []:
        models.setdefault(family.name, select(cells, [family]))
    return {name: partial(clipped, model, y) for name, model in models.items()}


def clipped(model, y, X):
    """Predictions within the range of the targets, where the model is not one of lines alone."""
    predictions = model.predict(X)[:, 0]
    return predictions if model.target_range is None else np.clip(predictions, y.min(), y.max())


def linear(X, weights, intercept):
    return X @ weights + intercept


def rivals(X, y, budget, seed):
    """Mean-imputed ridge from uniform looks, and ridge on as many whole rows as the same spend buys."""
    imputed = MeanImputed(X.shape[1], budget=budget, design="uniform", random_state=seed).run(X, y)
    found = {"mean-imputed, uniform looks": partial(linear, weights=imputed.coef, intercept=imputed.intercept)}
    rows = budget * len(y) // X.shape[1]
    whole = RidgeCV(alphas=np.logspace(-3, 4, 15)).fit(X[:rows], y[:rows])
    return found | {"whole rows": whole.predict}


def best_online(X, y, X_test, y_test, budget, seed, score):
    """DDAERR with exact second moments and what is best on the test data."""
    reference = RidgeCV(alphas=np.logspace(-3, 4, 15)).fit(X[:3_000], y[:3_000])
    radius, centred = float(np.linalg.norm(reference.coef_)), second_moments(X - X.mean(axis=0))
    options = {"second_moments": centred, "split": "even", "inner": "improved", "center": True, "random_state": seed}
    tried = product((0.5, 1.0), (1.0, 4.0, 16.0, 64.0))
    scores = []
    for size, step in tried:
        learner = DDAERR(X.shape[1], budget=budget, radius=size * radius, step_scale=step, **options).run(X, y)
        scores.append(score(partial(linear, weights=learner.coef, intercept=learner.intercept)))
    return min(scores)


def measure(name, budget, rows, seeds, auto_only=False):
    """One line of the table."""
    X, y, X_test, y_test = load(name)
    zero, results = np.mean(y_test**2), {}

    def score(model):
        return float(np.mean((y_test - model(X_test)) ** 2) / zero)

    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(y))[:rows]
        mine, targets = np.ascontiguousarray(X[order], dtype=float), y[order]
        scores, models = {}, keepers(mine, targets, budget, seed, families=not auto_only)
        if not auto_only:
            scores = {"DDAERR, told": best_online(mine, targets, X_test, y_test, budget, seed, score)}
            models |= rivals(mine, targets, budget, seed)
        if name.startswith("simulated"):
            told = keepers(mine, targets, budget, seed, told=X.var(axis=0), families=not auto_only)
            models |= {f"{key}, told": model for key, model in told.items()}
        for learner, value in (scores | {key: score(model) for key, model in models.items()}).items():
            results.setdefault(learner, []).append(value)
    cells = [f"{key} {np.mean(v):.3f}±{np.std(v, ddof=1) if len(v) > 1 else 0:.3f}" for key, v in results.items()]
    print(f"{name}, {budget} looks, {rows:,} rows ({budget * rows:,} values): " + "; ".join(cells), flush=True)


def main():
    """Measure what was named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*", default=["mnist", "covertype", "simulated", "small", "rare"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--auto-only", action="store_true", help="the automatic choice alone, without its rivals")
    parser.add_argument("--quick", action="store_true", help="two seeds, and the smallest spend of each data set")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # scikit-learn's word on singular matrices at tiny ridges
    for name, settings in SETTINGS.items():
        if name.split()[0] in options.data:
            for budget, rows in settings[: 1 if options.quick else None]:
                measure(name, budget, rows, 2 if options.quick else options.seeds, options.auto_only)


if __name__ == "__main__":
    main()
