"""Accuracy against money per case: visits, the same tests for everybody, random tests, and trees on rows with holes.

    SPARING_DATA=folder python benchmarks/visits.py [--splits 10] [--data heart,pima] [--cells all|fifth]
        [--runs runs.jsonl] [--output visits.csv] [--picture visits.png]

Heart, pima, hepatitis and thyroid with their prices (Turney 1995); breast cancer, scikit-learn's digits 3 and 5,
MNIST's 3 and 5 (every second pixel of every second line), and a spam-like set at one per value. The latter is made of
news stories (RCV1: corporate and economic against government and markets): the weights of the 57 most frequent terms,
four fifths of which are zero. Two thirds of the cases, at most 1,000 (MNIST: 500), to learn from, the others, at most
1,000, for the test; learnt from all their values or, with ``--cells fifth``, from a fifth of them (the rivals keep all,
unless it says so). With ``--runs``, the curves of each split are appended to a file, and those that it has are not made
again.

* visits: ``model.buy(price_of_error=...)`` at several prices of an error;
* same for all: ``model.buy(budget=...)``: the route, cut at several budgets;
* forward: logistic regression on mean-imputed rows, its columns by forward selection, the gain of the log-likelihood
  per price; all cases pay for the same columns. Each step tries the twenty panels whose columns are most correlated
  with the residuals, per price;
* forward, a fifth: the same from as many values of each training case as visits learn from, drawn at random;
* random: panels in random order, predicted by the same model from what is known;
* trees: scikit-learn's HistGradientBoosting, fitted to rows of which a random part is hidden, along the route.

Accuracies at a given average cost are read off each curve by linear interpolation. Differences are paired by split.
"""

import argparse
import csv
import json
import warnings
from pathlib import Path

import numpy as np
import sklearn.datasets
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparing import BudgetClassifier
from sparing.datasets import load_medical, load_mnist_pair, load_rcv1
from sparing.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, empty_figure, save_picture

REFERENCE = {"heart": (10, 65, 200), "pima": (5, 14, 25), "hepatitis": (5, 10, 20), "thyroid": (10, 23, 40),
             "breast_cancer": (2, 3, 5), "digits35": (2, 5, 10), "mnist35": (2, 5, 10),
             "spam_like": (2, 3, 5)}  # fmt: skip
METHODS = {"visits": PURPLE, "same for all": BLUE, "forward": GREEN, "forward, a fifth": BLACK, "trees": ORANGE,
           "random": GREY}  # fmt: skip
LEGEND = {"same for all": "the same route for everybody", "forward": "forward selection, logistic regression",
          "forward, a fifth": "the same from a fifth of the values", "trees": "boosted trees along the route",
          "random": "tests in random order"}  # fmt: skip
MEDICAL = ("heart", "pima", "hepatitis", "thyroid")
TERMS = 57  # of the news stories, as many as spambase has attributes
MOST = 1000  # cases to learn from, and for the test
MOST_OF = {"mnist35": 500}  # cases to learn from, where a fit takes long
BEYOND = 1.1  # of the dearest reference, up to which curves are made
STEPS, TRIED = 10, 20  # of forward selection, and panels tried in each


def load(name):
    """Rows, labels, prices, and panels if there are any."""
    if name in MEDICAL:
        data = load_medical(name)
        return data.data, data.target, np.asarray(data.costs, float), data.get("groups")
    if name == "breast_cancer":
        X, y = sklearn.datasets.load_breast_cancer(return_X_y=True)
    elif name == "digits35":
        X, y = sklearn.datasets.load_digits(return_X_y=True)
        X, y = X[(y == 3) | (y == 5)], y[(y == 3) | (y == 5)]
    elif name == "spam_like":
        data = load_rcv1()
        counts = np.asarray((data.data != 0).sum(axis=0)).ravel()
        X, y = data.data[:, np.sort(np.argsort(-counts, kind="stable")[:TERMS])].toarray(), data.target
    else:
        data = load_mnist_pair(3, 5)
        X, y = data.data.reshape(-1, 28, 28)[:, ::2, ::2].reshape(-1, 196), data.target
    return np.asarray(X, float), y, np.ones(X.shape[1]), None


def panels_of(d, groups):
    """Columns that are bought together."""
    if groups is None:
        return [[column] for column in range(d)]
    alone = [[c] for c in range(d) if groups[c] in (None, "") or groups[c] != groups[c]]
    labels = sorted({g for g in groups if g not in (None, "") and g == g})
    return alone + [[c for c in range(d) if groups[c] == label] for label in labels]


def forward(X, y, X_test, y_test, costs, panels):
    """Points (cost, accuracy) of the same columns for everybody."""
    prepare = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()).fit(X)
    X, X_test = prepare.transform(X), prepare.transform(X_test)
    positive = y == y.max()
    chosen, spent, points = [], 0.0, [(0.0, np.mean(y_test == _commonest(y)))]
    chances, left = np.full(len(y), positive.mean()), list(panels)
    while left and len(points) <= STEPS:
        before, slopes = _log_loss(positive, chances), np.abs(X.T @ (positive - chances))
        left.sort(key=lambda panel: -(slopes[panel].max() ** 2) / costs[panel].sum())
        fits = [_logistic(X[:, chosen + panel], y) for panel in left[:TRIED]]
        tried = [fit.predict_proba(X[:, chosen + panel])[:, 1] for fit, panel in zip(fits, left, strict=False)]
        prices = [costs[panel].sum() for panel in left[:TRIED]]
        best = int(
            np.argmax([(before - _log_loss(positive, p)) / price for p, price in zip(tried, prices, strict=True)])
        )
        chosen, spent, chances = chosen + left.pop(best), spent + prices[best], tried[best]
        points.append((spent, fits[best].score(X_test[:, chosen], y_test)))
    return points


def _logistic(X, y):
    return LogisticRegression(solver="newton-cholesky").fit(X, y)


def _log_loss(positive, chances):
    return -np.mean(np.log(np.where(positive, chances, 1.0 - chances)))


def _commonest(y):
    labels, counts = np.unique(y, return_counts=True)
    return labels[counts.argmax()]


def along(order, predict, X_test, y_test, costs, most):
    """Points of panels in an order, by a model that predicts from rows with holes, until they cost so much."""
    seen, spent, points = np.full(X_test.shape, np.nan), 0.0, []
    for panel in [[], *order]:
        seen[:, panel] = X_test[:, panel]
        spent += float(costs[panel].sum()) if panel else 0.0
        points.append((spent, np.mean(predict(seen) == y_test)))
        if spent > most:
            break
    return points


def visited(model, X_test, y_test, costs, groups, most):
    """Points of visits, at higher and higher prices of an error."""
    points = along([], model.predict, X_test, y_test, costs, most)  # where nothing is bought
    for price in costs.mean() * np.geomspace(1, 2**16, 17):
        bought = model.buy(X_test, price_of_error=price, costs=costs, groups=groups)
        points.append((bought.spent.mean(), np.mean(bought.predictions == y_test)))
        if points[-1][0] > most:
            break
    return points


def curves(name, seed, cells):
    """Points (average cost, accuracy) of every method on one split."""
    X, y, costs, groups = load(name)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    n = min(MOST_OF.get(name, MOST), 2 * len(y) // 3)
    train, test = order[:n], order[n : n + MOST]
    X_test, y_test, d = X[test], y[test], X.shape[1]
    panels, tests = panels_of(d, groups), (X_test, y_test, costs)
    budget = d if cells == "all" else max(2, d // 5)
    model = BudgetClassifier(budget=budget, random_state=seed).fit(X[train], y[train])
    most = BEYOND * REFERENCE[name][-1]
    route = [list(map(int, purchase.columns)) for purchase in model.route(costs=costs, groups=groups)]
    anyhow = [panels[i] for i in rng.permutation(len(panels))]
    found = {
        "visits": visited(model, *tests, groups, most),
        "same for all": along(route, model.predict, *tests, most),
        "random": along(anyhow, model.predict, *tests, most),
        "forward": forward(X[train], y[train], *tests, panels),
    }
    hidden = np.where(rng.random((n, d)) < rng.random((n, 1)), np.nan, X[train])
    trees = HistGradientBoostingClassifier(random_state=0).fit(np.vstack([hidden, X[train]]), np.tile(y[train], 2))
    found["trees"] = along(route, trees.predict, *tests, most)
    if cells == "fifth":
        few = np.where(rng.random((n, d)).argsort(axis=1) < budget, X[train], np.nan)
        found["forward, a fifth"] = forward(few, y[train], *tests, panels)
    return found


def remembered(path, name, seed, cells):
    """The curves of one split, from a file of runs if it has them, else made and appended to it."""
    key = [name, seed, cells]
    if path is not None and path.exists():
        for line in path.read_text().splitlines():
            run = json.loads(line)
            if run["key"] == key:
                return run["curves"]
    found = curves(name, seed, cells)
    if path is not None:
        plain = {method: [[float(cost), float(right)] for cost, right in points] for method, points in found.items()}
        with path.open("a") as file:
            file.write(json.dumps({"key": key, "curves": plain}) + "\n")
    return found


def at(points, cost):
    """The accuracy of a curve at an average cost."""
    costs, accuracies = np.array(sorted(points)).T
    return float(np.interp(cost, costs, accuracies))


def draw(found, reference, path, title, unit):
    """Average curves of all methods."""
    figure = empty_figure(figsize=(7.4, 4.4))
    axes = figure.add_subplot()
    grid = np.linspace(0, 1.1 * reference[-1], 60)
    for method, colour in METHODS.items():
        runs = [[at(run[method], cost) for cost in grid] for run in found if method in run]
        if runs:
            mean, error = np.mean(runs, axis=0), np.std(runs, axis=0) / np.sqrt(len(runs))
            axes.plot(grid, 100 * mean, color=colour, label=LEGEND.get(method, method))
            axes.fill_between(grid, 100 * (mean - error), 100 * (mean + error), color=colour, alpha=0.15, linewidth=0)
    axes.set(xlabel=f"{unit}, on average", ylabel="accuracy (%)")
    axes.set_title(title, loc="left", fontsize=11)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right")
    save_picture(figure, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--data", default=",".join(REFERENCE))
    parser.add_argument("--cells", choices=("all", "fifth"), default="all")
    parser.add_argument("--runs", type=Path, default=None, help="curves of splits, which are not made twice")
    parser.add_argument("--output", default=None)
    parser.add_argument("--picture", default=None, help="of the first data set")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for place, name in enumerate(arguments.data.split(",")):
        runs = [remembered(arguments.runs, name, seed, arguments.cells) for seed in range(arguments.splits)]
        for cost in REFERENCE[name]:
            visits = np.array([at(run["visits"], cost) for run in runs])
            for method in METHODS:
                if method in runs[0]:
                    there = np.array([at(run[method], cost) for run in runs])
                    gain = visits - there
                    error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else float("nan")
                    lines.append([name, cost, method, there.mean(), gain.mean(), error])
                    print(f"{name:14} {cost:5g} {method:13} {100 * there.mean():6.1f}   visits gain "
                          f"{100 * gain.mean():5.1f} ± {100 * error:.1f}", flush=True)  # fmt: skip
        if arguments.picture and place == 0:
            title = f"{name}: {arguments.splits} splits, bands of one standard error"
            unit = "dollars per patient" if name in MEDICAL else "values per case"
            draw(runs, REFERENCE[name], arguments.picture, title, unit)
    if arguments.output:
        with open(arguments.output, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["data", "cost", "method", "accuracy", "gain_of_visits", "standard_error"])
            writer.writerows(lines)


if __name__ == "__main__":
    main()
