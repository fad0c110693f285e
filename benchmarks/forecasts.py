"""Do the forecasts of `plan`, and the R² that `fit` reports, hold? Both against rows that nothing was learnt from.

    SPARING_DATA=folder python benchmarks/forecasts.py [--splits 2] [--tables airfoil,bike] [--output results.csv]
    SPARING_DATA=folder python benchmarks/forecasts.py --few [--splits 12]

The tables of ``benchmarks/tables.py``, three of medical data, covertype and Friedman's simulation. A third of each is
for the test, or more where 3,000 rows to learn from are left. Rows to learn from: 100, 300, 1,000 and 3,000, or all
there are; 3 looks at each row of every other table, a quarter of the columns (5 at least) of the others, the other
way round in the next split. *R²*: that on whole test rows, against the interval that BudgetRidge reports. *Plan*:
pilots of 100, 300 and 1,000 rows with uniform looks, asked for the spends of all these numbers of rows up to ten
times the pilot; errors of BudgetRidge there, and of ridge regression on as many whole rows as the spend buys, against
their intervals. Errors are over that of the mean target, and those above 2 count as 2 in the bias. Standard errors
are those of a mean over tables. Constants were set on splits before 30. With ``--output``,
a run goes on where another one ended, and several may share the file if their tables differ. With ``--few``, only R² is
measured: fits to 10 to 20 rows of fourteen tables, budgets of 3, a quarter of the columns and all columns in turn,
against R² by ``score`` on up to 2,000 other rows; constants were set on splits before 200.
"""

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tables import SKLEARN, UCI, load

from sparing import BudgetRidge
from sparing.datasets import load_covertype, load_medical
from sparing.learners import PairwiseMoments
from sparing.models.forecast import RIDGES
from sparing.planning import plan

MEDICAL = ("heart", "pima", "thyroid")
TABLES = (*SKLEARN, *MEDICAL, "covertype", "friedman", *UCI)
SIZES, PILOTS, FARTHEST = (100, 300, 1000, 3000), (100, 300, 1000), 10
FIRST_SPLIT = 34  # those before it were used to set constants
FEW, FIRST_FEW = (10, 12, 15, 20), 200  # numbers of rows, and the first split that set no constant
TABLES_OF_FEW = ("diabetes", "airfoil", "concrete", "energy", "housing", "wine", "load_wine", "breast_cancer", "heart",
                 "friedman", "skillcraft", "stock", "parkinsons", "autos")  # fmt: skip
FIELDS = ("what", "table", "split", "budget", "rows", "times", "forecast", "low", "high", "truth")


def columns_and_target(name):
    """As ``tables.load``; of medical data the rows without missing values."""
    if name == "friedman":
        return make_friedman1(20_000, random_state=0)
    if name == "covertype":
        return (part[:40_000] for part in load_covertype(return_X_y=True))
    if name not in MEDICAL:
        return load(name)
    X, y = load_medical(name, return_X_y=True)
    whole = np.isfinite(X).all(axis=1)
    return X[whole], y[whole]


def compared(name, split):
    """Every forecast for one split of a table, and what came true."""
    X, y = columns_and_target(name)
    order = np.random.default_rng(7000 + split).permutation(len(y))
    held_out = max(len(y) // 3, min(len(y) - SIZES[-1], 20_000))
    test, train = order[:held_out][:10_000], order[held_out:]
    d = X.shape[1]
    budget = min(d, 3 if (split + TABLES.index(name)) % 2 == 0 else max(5, d // 4))

    def error(model, n):
        rows = train[:n]
        residuals = model.fit(X[rows], y[rows]).predict(X[test]) - y[test]
        return np.mean(residuals**2) / np.mean((y[rows].mean() - y[test]) ** 2)

    few, whole = {}, {}
    for n in sorted({min(n, len(train)) for n in SIZES}):
        model = BudgetRidge(budget, random_state=split)
        few[n], found = error(model, n), {"table": name, "split": split, "budget": budget, "rows": n}
        whole[n] = error(make_pipeline(StandardScaler(), RidgeCV(RIDGES)), max(2, n * budget // d))
        low, high = model.report_["r2_interval"]
        yield found | {"what": "R²", "forecast": model.report_["r2"], "low": low, "high": high, "truth": 1 - few[n]}
    for n in [n for n in PILOTS if n in few]:
        pilot = PairwiseMoments(d, budget=budget, design="uniform", random_state=split).run(X[train[:n]], y[train[:n]])
        rows = [m for m in few if n <= m <= FARTHEST * n]
        for m, at in zip(rows, plan(pilot.bought, budget=budget, spends=[budget * m for m in rows]), strict=True):
            found = {"table": name, "split": split, "budget": budget, "rows": n, "times": m / n}
            for what, middle, (low, high), truth in (
                ("few", at.few, at.few_interval, few[m]),
                ("whole", at.whole, at.whole_interval, whole[m]),
            ):
                if np.isfinite(middle):
                    yield found | {"what": what, "forecast": middle, "low": low, "high": high, "truth": truth}


def over_tables(rows, value):
    """A mean over all rows, and its standard error as that of a mean over tables."""
    tables = sorted({row["table"] for row in rows})
    means = [np.mean([value(row) for row in rows if row["table"] == table]) for table in tables]
    error = f" ± {np.std(means, ddof=1) / np.sqrt(len(tables)):.3f}" if len(tables) > 1 else ""
    return f"{np.mean([value(row) for row in rows]):.3f}{error}"


def held(row):
    """Whether the truth is in the interval."""
    return row["low"] <= row["truth"] <= row["high"]


def bias(row):
    """Forecast less truth, neither beyond 2: no catastrophe is to be the mean."""
    return np.clip(row["forecast"], -1, 2) - np.clip(row["truth"], -1, 2)


def show(groups):
    """Coverage, bias and width of some groups of forecasts, by name."""
    print(f"\n| | cases | interval covers | bias | median distance | median width |\n{'| --- ' * 6}|")
    for name, rows in groups.items():
        if not rows:
            continue
        distance = np.median([abs(row["forecast"] - row["truth"]) for row in rows])
        width = np.median([row["high"] - row["low"] for row in rows])
        label = f"{name} ({len({row['table'] for row in rows})} tables)"
        means = f"{over_tables(rows, held)} | {over_tables(rows, bias)}"
        print(f"| {label} | {len(rows)} | {means} | {distance:.3f} | {width:.2f} |")


def show_all(rows):
    """The tables of ``docs/forecasts.md``."""
    found = {what: [row for row in rows if row["what"] == what] for what in ("R²", "few", "whole")}
    print("\nR² of fit")
    show(
        {"all": found["R²"]}
        | {"up to 300 rows": [row for row in found["R²"] if row["rows"] <= 300]}
        | {"more rows": [row for row in found["R²"] if row["rows"] > 300]}
    )
    for what, title in (("few", "a few values of each example"), ("whole", "whole rows, by ridge regression")):
        print(f"\nplan: {title}")
        show(
            {"all": found[what]}
            | {f"pilots of {n:,} rows": [row for row in found[what] if row["rows"] == n] for n in PILOTS}
            | {"more than twice the pilot": [row for row in found[what] if row["times"] > 2]}
        )
    print("\nIntervals that held")
    print(f"\n| table | R² of `fit` | plan, a few values | plan, whole rows |\n{'| --- ' * 4}|")
    for table in sorted({row["table"] for row in rows}):
        of_table = [[held(row) for row in found[what] if row["table"] == table] for what in found]
        print(f"| {table} | {' | '.join(f'{sum(cases)} of {len(cases)}' for cases in of_table)} |")


def kept(path):
    """What an earlier run wrote; what is no number there has a name."""
    if path is None or not path.exists():
        return []
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [{key: row[key] if key in ("what", "table") else float(row[key] or 1) for key in FIELDS} for row in rows]


def keep(path, rows):
    """Append to what earlier runs wrote."""
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if new:
            writer.writeheader()
        writer.writerows(rows)


def held_by_few(X, y, n, split):
    """Whether the interval of a fit to n rows holds the R² of other rows, and its width."""
    order = np.random.default_rng(7000 + split).permutation(len(y))
    few, others = order[: len(y) // 2][:n], order[-min(len(y) // 2, 2000) :]
    d = X.shape[1]
    model = BudgetRidge(min(d, (3, max(5, d // 4), d)[(split + n) % 3]), random_state=split).fit(X[few], y[few])
    low, high = model.report_["r2_interval"]
    return low <= model.score(X[others], y[others]) <= high, high - low


def show_few(splits):
    """The table of few rows in ``docs/forecasts.md``."""
    tables = [columns_and_target(name) for name in TABLES_OF_FEW]
    print("| rows | fits | interval covers | median width |\n| --- | --- | --- | --- |")
    for n in FEW:
        found = [held_by_few(X, y, n, split) for X, y in tables for split in range(FIRST_FEW, FIRST_FEW + splits)]
        covers, width = np.mean([held for held, _ in found]), np.median([width for _, width in found])
        print(f"| {n} | {len(found)} | {covers:.2f} | {width:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--output", type=Path, help="CSV file to add to; what it holds is not measured again")
    parser.add_argument("--few", action="store_true", help="only R² of fits to few rows")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.few:
        show_few(options.splits)
        return
    rows, names = kept(options.output), options.tables.split(",")
    for split in range(FIRST_SPLIT, FIRST_SPLIT + options.splits):
        for name in names:
            if any((row["table"], row["split"]) == (name, split) for row in rows):
                continue
            rows += (new := list(compared(name, split)))
            if options.output:
                keep(options.output, new)
    show_all(rows)


if __name__ == "__main__":
    main()
