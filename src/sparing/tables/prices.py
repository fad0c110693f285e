"""Price lists: what each attribute costs, and the panel that it is bought with."""

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from sparing.files import InputError, refuse_missing_file
from sparing.tables.names import first_line, refuse_repeated
from sparing.tables.text import opened, read_header


@dataclass(frozen=True)
class PriceList:
    """Price and panel ("" for none) of each attribute, in the order of a table. A free attribute has price zero."""

    costs: np.ndarray
    groups: list[str]


def priced_names(path) -> list[str]:
    """The attributes that a price list names, in its order."""
    return list(_checked(Path(path)))


def read_prices(path, names: list[str]) -> PriceList:
    """Read a CSV file with columns attribute, cost and, if there are panels, group.

    The separator is a comma, a semicolon or a tab; with the last two, costs may have decimal commas. Every name needs
    one price, zero for a free attribute, and none may have two. Prices of other attributes are ignored.
    """
    path = Path(path)
    prices = _checked(path)
    missing, others = [name for name in names if name not in prices], [name for name in prices if name not in names]
    if missing:
        meant = [(name, near) for name in missing for near in get_close_matches(name, others, 1)]
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        raise InputError(
            f"{path.name} has no price for {(meant[0] if meant else missing)[0]!r}{more}",
            f"is the line {meant[0][1]!r} meant?" if meant else f"add a line for {'each' if more else 'it'}",
        )
    return PriceList(np.array([prices[name][0] for name in names]), [prices[name][1] for name in names])


def prices_of_indicators(path, columns: Sequence[str]) -> PriceList:
    """The same for a table in which columns of text became indicators: each column keeps its price, and is one panel.

    ``columns`` names the column that each attribute comes from.
    """
    sizes = Counter(columns)
    prices = read_prices(path, list(sizes))
    starts, groups = np.cumsum([0, *sizes.values()])[:-1], dict(zip(sizes, prices.groups, strict=True))
    costs = np.zeros(len(columns))
    costs[starts] = prices.costs  # a panel costs what its members cost together
    labels = {name: f"column {name}" if size > 1 else "" for name, size in sizes.items()}
    return PriceList(costs, [groups[name] or labels[name] for name in columns])


def _checked(path: Path) -> dict[str, tuple[float, str]]:
    """Cost and group by attribute, or an error that says what to do."""
    refuse_missing_file(path)
    try:
        return _read(path)
    except InputError:
        raise
    except Exception as error:  # undecodable bytes, or fields longer than csv allows
        raise InputError(
            f"{path.name} cannot be read as a price list: {first_line(error)}", "check the file"
        ) from error


def _read(path: Path) -> dict[str, tuple[float, str]]:
    """Cost and group by attribute."""
    with opened(path) as file:
        header, separator, n_lines = read_header(file)
        if not {"attribute", "cost"} <= set(header):
            raise InputError(f"{path.name} has no columns attribute and cost", "add a header with these names")
        refuse_repeated(header, path.name)
        reader = csv.reader(file, delimiter=separator, skipinitialspace=True)
        prices: dict[str, tuple[float, str]] = {}
        for values in reader:
            if not values:
                continue
            line = f"line {reader.line_num + n_lines} of {path.name}"
            if len(values) != len(header):
                raise InputError(f"{line} has {len(values)} values for {len(header)} columns", "give one per column")
            row = dict(zip(header, map(str.strip, values), strict=True))
            if row["attribute"] in prices:
                raise InputError(f"{line} prices {row['attribute']!r} a second time", "keep one of the two")
            cost = row["cost"] if separator == "," else row["cost"].replace(",", ".")
            prices[row["attribute"]] = _cost(cost, row["cost"], line), row.get("group", "")
    return prices


def _cost(text: str, written: str, line: str) -> float:
    try:
        cost = float(text)
    except ValueError:
        cost = np.nan
    if not (np.isfinite(cost) and cost >= 0):
        raise InputError(f"{line} has the cost {written!r}", "give a number such as 6.50, and 0 for what is free")
    return cost
