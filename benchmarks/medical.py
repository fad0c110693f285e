"""Accuracy against Canadian dollars on four medical data sets with published prices.

    SPARING_DATA=folder python benchmarks/medical.py [picture.png] [--seeds 10] [--quick]

Three ways to spend the same money on patients, tested on a third of the patients, of whom nothing was bought:

* a few tests of every patient, chosen by price, spread and weight (BudgetRidge's default learner);
* a few tests of every patient, drawn at random (expensive ones less often);
* every test of fewer patients, missing values filled with means, and ridge regression on them.

A missing value is unavailable, but paid for. Panels are bought together, at the sum of their prices.
"""

import argparse
import warnings

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparing.buying.shop import Shop
from sparing.datasets import load_medical
from sparing.learners import AutoLearner
from sparing.sources import CallableSource

SETS = ("heart", "pima", "hepatitis", "thyroid")
SHARE = 0.35  # of the price of all tests, to be spent on one patient
PATIENTS = (25, 50, 100, 200, 400, 800)
WAYS = {"a few tests, chosen": "#7B3294", "a few tests, at random": "#8C8C8C", "all tests of fewer": "#000000"}


def bought(data, X, y, budget, design, seed):
    """Weights and intercept from a few tests of each patient, and what they cost."""
    learner = AutoLearner(
        X.shape[1], budget=budget, costs=data.costs, groups=data.groups, design=design, n_examples=len(y),
        random_state=seed,
    )  # fmt: skip
    source = CallableSource(lambda patient, tests: X[patient, tests], n_examples=len(y), n_attributes=X.shape[1])
    learner.run(source, y)
    return (lambda rows: np.where(np.isnan(rows), means(X), rows) @ learner.coef + learner.intercept), learner.spent


def means(X):
    """What stands for a missing value at the test: the mean."""
    return np.nanmean(X, axis=0)


def whole(data, X, y, spend):
    """Every test of as many patients as the money buys."""
    n = int(spend / data.costs.sum())
    if n < 4 or len(np.unique(y[:n])) < 2:
        return None
    model = make_pipeline(
        SimpleImputer(keep_empty_features=True), StandardScaler(), RidgeCV(alphas=np.logspace(-2, 4, 13))
    )
    return model.fit(X[:n], y[:n]).predict


def budget_of(data) -> float:
    """Money for a patient: a share of the price of all tests, but enough for any two purchases together."""
    shop = Shop(len(data.costs), data.costs.sum(), costs=data.costs, groups=data.groups)
    return max(SHARE * float(data.costs.sum()), shop.amount(np.sort(shop.prices)[-2:].sum()))


def measure(name, seeds, patients=PATIENTS):
    """Accuracy by way and spend: lists over seeds; without those in which few seeds had patients of both classes."""
    data, results = load_medical(name), {}
    budget = budget_of(data)
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(data.target))
        test, train = order[: len(order) // 3], order[len(order) // 3 :]
        X_test, y_test = data.data[test], data.target[test]
        for n in (n for n in patients if n <= len(train)):
            X, y = data.data[train[:n]], data.target[train[:n]].astype(float)
            chosen, spent = bought(data, X, y, budget, "adaptive", seed)
            random, _ = bought(data, X, y, budget, "uniform", seed)
            models = (chosen, random, whole(data, data.data[train], data.target[train], spent))
            for way, model in zip(WAYS, models, strict=True):
                if model is not None:
                    accuracy = float(np.mean(np.sign(model(X_test)) == y_test))
                    results.setdefault((way, n), []).append((spent, accuracy))
    return data, {key: runs for key, runs in results.items() if 2 * len(runs) >= seeds}


def draw(axes, name, data, results):
    """One panel: accuracy against dollars."""
    for way, colour in WAYS.items():
        points = [np.array(runs) for (key, _), runs in sorted(results.items()) if key == way]
        spend, accuracy = [p[:, 0].mean() for p in points], [p[:, 1].mean() for p in points]
        spread = [p[:, 1].std(ddof=1) if len(p) > 1 else 0.0 for p in points]
        axes.errorbar(spend, accuracy, yerr=spread, label=way, color=colour, marker="o", markersize=4, capsize=3)
    most = max(np.mean(data.target > 0), np.mean(data.target < 0))
    axes.axhline(most, color="0.6", linestyle=":", linewidth=1)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_title(f"{name}: {len(data.costs)} tests, ${data.costs.sum():,.0f} for all", loc="left", fontsize=10)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def main():
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", nargs="?", default="medical.png")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="two seeds and two spends")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    figure = Figure(figsize=(9.5, 7), layout="constrained")
    panels = figure.subplots(2, 2)
    for name, axes in zip(SETS, panels.flat, strict=True):
        quick = {"seeds": 2, "patients": (50, 100)} if options.quick else {"seeds": options.seeds}
        data, results = measure(name, **quick)
        for (way, n), runs in results.items():
            spend, accuracy = np.array(runs).T
            spread = accuracy.std(ddof=1) if len(runs) > 1 else 0.0
            print(f"{name}, {n} patients, ${spend.mean():,.0f}: {way} {accuracy.mean():.3f}±{spread:.3f}", flush=True)
        draw(axes, name, data, results)
    panels[0, 0].legend(frameon=False, fontsize=9)
    figure.supxlabel("Canadian dollars spent (log scale)")
    figure.supylabel("accuracy on patients of whom nothing was bought; dotted: the larger class")
    figure.savefig(options.picture, dpi=130)
    print(f"picture: {options.picture}")


if __name__ == "__main__":
    main()
