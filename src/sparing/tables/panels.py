"""A table of any columns as numbers: the indicators of a column of text are a panel, for the price of the column."""

from dataclasses import replace

import numpy as np

from sparing.tables.frames import numbers_of
from sparing.tables.prices import PriceList
from sparing.tables.table import Table


def as_panels(table: Table, prices: PriceList | None) -> tuple[Table, PriceList | None]:
    """The table with numbers only, and prices and panels by which a column stays one purchase.

    Without a price list, and without text, there is none: every column costs one.
    """
    if not hasattr(table.X, "columns"):
        return table, prices
    numbers, names, sources = numbers_of(table.X, True, "the table")
    numeric = replace(table, X=numbers, names=names)
    if len(names) == len(table.names):
        return numeric, prices and _by_column(prices, table.names, sources)
    costs = np.ones(len(table.names)) if prices is None else prices.costs
    groups = [""] * len(table.names) if prices is None else prices.groups
    panels = [group or name for name, group in zip(table.names, groups, strict=True)]
    spread = _by_column(PriceList(costs, panels), table.names, sources)
    first = [at == 0 or sources[at] != sources[at - 1] for at in range(len(sources))]
    return numeric, replace(spread, costs=np.where(first, spread.costs, 0.0))


def _by_column(prices: PriceList, names: list[str], sources: list[str]) -> PriceList:
    """The price and panel of the column that each number comes from."""
    at = [names.index(source) for source in sources]
    return PriceList(prices.costs[at], [prices.groups[i] for i in at])
