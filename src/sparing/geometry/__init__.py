"""The geometry of the data: what it says about where to look."""

from sparing.geometry.moments import half_norm, improvement_ratio, second_moments

__all__ = ["half_norm", "improvement_ratio", "second_moments"]
