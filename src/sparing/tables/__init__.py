"""Tables and price lists of the user's own: CSV, Parquet and npz files in, numbers out."""

from sparing.tables.panels import as_panels
from sparing.tables.prices import PriceList, read_prices
from sparing.tables.table import SUFFIXES, Table, read_table

__all__ = ["SUFFIXES", "PriceList", "Table", "as_panels", "read_prices", "read_table"]
