"""The geometry of the data: second moments say where to look, the effective dimension how much there is to learn."""

from sparing.geometry.effective_dimension import effective_dimension, effective_dimension_at_most
from sparing.geometry.larger_ridge import best_ridge
from sparing.geometry.leverage import ridge_leverage_scores, spectral_bounds
from sparing.geometry.moments import half_norm, improvement_ratio, second_moments

__all__ = [
    "best_ridge",
    "effective_dimension",
    "effective_dimension_at_most",
    "half_norm",
    "improvement_ratio",
    "ridge_leverage_scores",
    "second_moments",
    "spectral_bounds",
]
