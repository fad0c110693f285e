"""Where values come from: each source answers reads of named attributes of one example, and of nothing else."""

from sparing.sources.arrays import ArraySource
from sparing.sources.remote import CallableSource

__all__ = ["ArraySource", "CallableSource"]
