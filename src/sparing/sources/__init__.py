"""Sources of values: each answers reads of given attributes of one example."""

from sparing.sources.arrays import ArraySource
from sparing.sources.remote import CallableSource

__all__ = ["ArraySource", "CallableSource"]
