"""Tables and price lists, read from CSV, Parquet and npz files."""

from sparing.files import SUFFIXES
from sparing.tables.columnar import read_columnar
from sparing.tables.prices import PriceList, priced_names, prices_of_indicators, read_prices
from sparing.tables.table import Table, read_rows, read_table

__all__ = [
    "SUFFIXES",
    "PriceList",
    "Table",
    "priced_names",
    "prices_of_indicators",
    "read_columnar",
    "read_prices",
    "read_rows",
    "read_table",
]
