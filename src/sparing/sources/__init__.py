"""Sources of values: each answers reads of given attributes of one example, or of blocks or batches of them."""

from sparing.sources.arrays import ArraySource
from sparing.sources.chunks import ChunkSource
from sparing.sources.http import HTTPSource
from sparing.sources.parquet import ParquetSource
from sparing.sources.remote import CallableSource
from sparing.sources.sql import SQLSource

__all__ = ["ArraySource", "CallableSource", "ChunkSource", "HTTPSource", "ParquetSource", "SQLSource"]
