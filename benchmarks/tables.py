"""BudgetRidge on ordinary tables, against what people would use on the same number of values per row.

    SPARING_DATA=folder python benchmarks/tables.py [--splits 5] [--rows 2000] [--tables airfoil,bike]
        [--output results.csv] [--picture tables.png] [--one-split]

Fourteen tables of the UCI repository (``tables/`` of the data folder) and four data sets of scikit-learn; a third of
the rows, at most 2,000, for the test, at most ``--rows`` others to learn from; budgets of 3, 5 and a quarter of all
columns. Rivals see as many values, drawn uniformly: ridge regression after imputing means, by nearest neighbours or by
scikit-learn's IterativeImputer (up to 40 columns), and LightGBM on rows with holes. Beside them: ridge and LightGBM on
whole rows of fewer examples, for the same number of values, and on all values. Scores are test squared errors over that
of the mean of the training targets. Needs ``pip install lightgbm``.
"""

import argparse
import csv
import os
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import sklearn.datasets
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparing import BudgetRidge
from sparing.plotting import BLUE, RED, empty_figure, save_picture

UCI = ("airfoil", "autos", "bike", "concrete", "elevators", "energy", "forest", "gas", "housing", "keggundirected",
       "parkinsons", "skillcraft", "stock", "wine")  # fmt: skip
SKLEARN = ("diabetes", "breast_cancer", "load_wine", "digits")
RIVALS = ("mean", "nearest", "iterative", "lightgbm")
RIDGES = np.logspace(-3, 5, 17)
WIDEST_ITERATIVE = 40
ONE_SPLIT = "always the same rows, but other looks: standard deviations are then over seeds alone"


def load(name):
    """Columns and target; of digits the target is whether they are odd."""
    if name in UCI:
        path = Path(os.environ["SPARING_DATA"]) / "tables" / f"{name}.csv.gz"
        table = np.genfromtxt(path, delimiter=",")
        return table[:, :-1], table[:, -1]
    X, y = getattr(sklearn.datasets, f"load_{name.removeprefix('load_')}")(return_X_y=True)
    return X, np.asarray(y % 2 if name == "digits" else y, float)


def split(X, y, seed, most_rows):
    """Training and test part."""
    order = np.random.default_rng(1000 + seed).permutation(len(y))
    n = len(y) // 3
    train, test = order[n:][:most_rows], order[:n][:2000]
    return X[train], y[train], X[test], y[test]


def with_holes(X, budget, seed):
    """Rows of which only so many values, drawn uniformly, are left."""
    seen = np.argsort(np.random.default_rng(seed).random(X.shape), axis=1)[:, :budget]
    rows = np.full(X.shape, np.nan)
    np.put_along_axis(rows, seen, np.take_along_axis(X, seen, axis=1), axis=1)
    return rows


def ridge(*steps):
    return make_pipeline(*steps, RidgeCV(RIDGES))


def rivals(n_columns):
    """What people would use on rows with holes."""
    from lightgbm import LGBMRegressor

    found = {
        "mean": ridge(SimpleImputer(), StandardScaler()),
        "nearest": ridge(StandardScaler(), KNNImputer()),
        "lightgbm": LGBMRegressor(n_jobs=1, verbose=-1),
    }
    if n_columns <= WIDEST_ITERATIVE:
        found["iterative"] = ridge(StandardScaler(), IterativeImputer(random_state=0))
    return found


def scores(name, X, y, X_test, y_test, budget, seed):
    """Test errors of everybody, and the seconds that BudgetRidge took, on the processor."""
    from lightgbm import LGBMRegressor

    def error(model, rows, targets, columns=slice(None)):
        predicted = model.fit(rows, targets).predict(X_test[:, columns])
        return float(np.mean((predicted - y_test) ** 2) / np.mean((y.mean() - y_test) ** 2))

    started = time.process_time()
    found = {"table": name, "budget": budget, "seed": seed, "rows": len(y), "columns": X.shape[1]}
    model = BudgetRidge(budget, random_state=seed)
    found["sparing"] = error(model, X, y)
    found["seconds"] = time.process_time() - started
    found["model"] = model.report_["features"]
    found["trees"] = model.report_["trees_share"]
    holes = with_holes(X, budget, seed)
    seen = np.flatnonzero(~np.isnan(holes).all(axis=0))
    for rival, pipeline in rivals(X.shape[1]).items():
        found[rival] = error(pipeline, holes[:, seen], y, seen)
    fewer = max(10, len(y) * budget // X.shape[1])
    for kind, make in {
        "ridge": lambda: ridge(StandardScaler()),
        "lightgbm": lambda: LGBMRegressor(n_jobs=1, verbose=-1),
    }.items():
        found[f"whole_{kind}"] = error(make(), X[:fewer], y[:fewer])
        found[f"all_{kind}"] = error(make(), X, y)
    return found


class Case(NamedTuple):
    """Means over splits for one table and budget."""

    name: str
    ours: float
    rival: str
    theirs: float
    whole: dict[str, float]
    calmer: bool  # whether our standard deviation over splits is no larger than the best rival's

    @property
    def ratio(self):
        return self.ours / self.theirs


def cases(results):
    """One case per table and budget, the best rival picked by its mean test error, in its favour."""
    found = []
    for table, budget in sorted({(r["table"], r["budget"]) for r in results}):
        here = [r for r in results if (r["table"], r["budget"]) == (table, budget)]
        rival = {name: [r[name] for r in here] for name in RIVALS if name in here[0]}
        best = min(rival, key=lambda name: np.mean(rival[name]))
        ours = [r["sparing"] for r in here]
        whole = {kind: float(np.mean([r[f"whole_{kind}"] for r in here])) for kind in ("ridge", "lightgbm")}
        name = f"{table.removeprefix('load_')}{'*' if table in SKLEARN else ''}, {budget} of {here[0]['columns']}"
        calmer = bool(np.std(ours) <= np.std(rival[best]))
        found.append(Case(name, float(np.mean(ours)), best, float(np.mean(rival[best])), whole, calmer))
    return found


def show(found):
    """The table, and how the marks are met."""
    print("| table, looks of columns | sparing | best rival | | ratio | whole rows: ridge | LightGBM |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for case in found:
        whole = f"{case.whole['ridge']:.3f} | {case.whole['lightgbm']:.3f}"
        print(f"| {case.name} | {case.ours:.3f} | {case.theirs:.3f} | {case.rival} | {case.ratio:.2f} | {whole} |")
    ratios = np.array([case.ratio for case in found])
    print(f"\n{len(found)} cases; geometric mean over the best rival {np.exp(np.mean(np.log(ratios))):.3f}")
    print(f"within 5 % of the best rival in {np.mean(ratios <= 1.05):.1%}, at most {ratios.max():.2f} of it")
    print(f"at most {max(case.ours for case in found):.3f} of the error of the mean predictor")
    print(f"standard deviation no larger than the best rival's in {np.mean([case.calmer for case in found]):.0%}")
    lost = [case.name for case in found if min(case.whole.values()) < case.ours]
    print(f"whole rows of fewer examples are better in {len(lost)}: {'; '.join(lost)}")


def draw(found, path):
    """Errors over the best rival's, sorted."""
    figure = empty_figure(figsize=(8.6, 10.0))
    axes = figure.add_subplot()
    ordered = sorted(found, key=lambda case: -case.ratio)
    axes.barh(range(len(ordered)), [c.ratio for c in ordered], color=[BLUE if c.ratio <= 1 else RED for c in ordered])
    axes.set_yticks(range(len(ordered)), [case.name for case in ordered], fontsize=8)
    axes.axvline(1.0, color="0.3", linewidth=1)
    axes.set_xlabel("test error over that of the best rival on as many values")
    axes.margins(y=0.01)
    axes.spines[["top", "right"]].set_visible(False)
    save_picture(figure, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--tables", default=",".join(UCI + SKLEARN))
    parser.add_argument("--output", help="a CSV file that results are appended to; those it holds are not repeated")
    parser.add_argument("--picture", help="where to draw errors over the best rival's")
    parser.add_argument("--one-split", action="store_true", help=ONE_SPLIT)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    measure(load, arguments)


def measure(load, arguments):
    """Scores of all tables, budgets and splits that were asked for, shown and drawn."""
    results = read(arguments.output)
    done = {(r["table"], r["budget"], r["seed"]) for r in results}
    for seed in range(arguments.splits):
        for name in arguments.tables.split(","):
            X, y = load(name)
            d = X.shape[1]
            for budget in sorted({min(3, d), min(5, d), max(2, round(d / 4))}):
                if (name, budget, seed) not in done:
                    divided = split(X, y, 0 if arguments.one_split else seed, arguments.rows)
                    results.append(scores(name, *divided, budget, seed))
                    append(arguments.output, results[-1])
    found = cases(results)
    show(found)
    if arguments.picture:
        draw(found, arguments.picture)


def read(path):
    """Results of an earlier run."""
    if not path or not Path(path).exists():
        return []
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    texts = ("table", "model")
    return [
        {k: v if k in texts else float(v) if "." in v or "e" in v else int(v) for k, v in r.items() if v} for r in rows
    ]


FIELDS = ("table", "budget", "seed", "rows", "columns", "sparing", "seconds", "model", "trees", *RIVALS,
          "whole_ridge", "whole_lightgbm", "all_ridge", "all_lightgbm")  # fmt: skip


def append(path, result):
    if path:
        new = not Path(path).exists()
        with open(path, "a", newline="") as file:
            writer = csv.DictWriter(file, FIELDS)
            if new:
                writer.writeheader()
            writer.writerow(result)


if __name__ == "__main__":
    main()
