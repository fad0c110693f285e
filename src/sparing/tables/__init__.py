"""Tables and price lists of the user's own: CSV, Parquet and npz files in, numbers out."""

from sparing.tables.prices import PriceList, priced_names, read_prices
from sparing.tables.table import SUFFIXES, Table, read_table

__all__ = ["SUFFIXES", "PriceList", "Table", "priced_names", "read_prices", "read_table"]
