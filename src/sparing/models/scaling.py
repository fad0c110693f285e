"""Units so extreme that squares would overflow or vanish: values are rescaled before a fit and restored after it.

Scales are powers of two, so rescaling is exact: a model of values times 1e200 is that of the values themselves, up to
units. If no unit is extreme, nothing is changed.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import NamedTuple

import numpy as np

from sparing.cells import Cells
from sparing.models.gaussian import FittedModel, Gaussian

EXTREME = 200  # binary exponent up to which sums of products of four values do not overflow


class Exponents(NamedTuple):
    """Units as exponents of two; zero if a unit is not extreme."""

    attributes: np.ndarray
    targets: np.ndarray

    @property
    def any(self) -> bool:
        """Whether any unit is extreme."""
        return bool(self.attributes.any() or self.targets.any())


def extreme_units(cells: Cells) -> Exponents:
    """The extreme units, judged by the largest value of each attribute and target."""
    attributes, targets = np.split(cells.summed(largest, combine=np.maximum), [cells.n_attributes])
    return Exponents(_extreme(attributes), _extreme(targets))


def largest(cells: Cells) -> np.ndarray:
    """The largest value of each attribute, then of each target."""
    found = np.zeros(cells.n_attributes)
    for piece in cells.pieces(in_order=False):
        np.maximum.at(found, piece.attributes, np.abs(piece.values))
    return np.concatenate([found, np.abs(cells.targets).max(axis=0, initial=0.0)])


def _extreme(values: np.ndarray) -> np.ndarray:
    exponents = np.frexp(values)[1]
    return np.where(np.abs(exponents) > EXTREME, exponents, 0)


def in_moderate_units(cells: Cells, units: Exponents) -> Cells:
    """A copy of cells whose units are not extreme."""
    return cells.mapped(_moderate, units)


def _moderate(cells: Cells, units: Exponents) -> Cells:
    scaled = Cells.merge([cells])
    scaled.values[:] = np.ldexp(cells.values, -units.attributes[cells.attributes])
    scaled.targets[:] = np.ldexp(cells.targets, -units.targets)
    return scaled


def at_any_scale(fit: Callable[..., FittedModel]) -> Callable[..., FittedModel]:
    """A fit to cells in any units, made from a fit whose result does not depend on units."""

    @wraps(fit)
    def scaled(cells: Cells, *args, **options) -> FittedModel:
        units = extreme_units(cells)
        if not units.any:
            return fit(cells, *args, **options)
        return _restored(fit(in_moderate_units(cells, units), *args, **options), units)

    return scaled


def _restored(model: FittedModel, units: Exponents) -> FittedModel:
    """The model in the units of its data. A variance that overflows in these units is infinite."""
    ours, theirs = units
    with np.errstate(over="ignore", under="ignore"):
        basis, attributes, weights = model.basis, model.attributes, model.weights
        if basis is None:
            weights, attributes = np.ldexp(weights, -ours[:, None]), _gaussian(attributes, ours)
        else:
            columns = [c._replace(knots=np.ldexp(c.knots, unit)) for c, unit in zip(basis.columns, ours, strict=True)]
            basis = replace(basis, columns=columns)
        trees = None if model.trees is None else model.trees.in_units(ours, theirs)
        return replace(
            model,
            weights=np.ldexp(weights, theirs),
            intercept=np.ldexp(model.intercept, theirs),
            residual_variance=np.ldexp(model.residual_variance, 2 * theirs),
            attributes=attributes,
            basis=basis,
            trees=trees,
            calibration=model.calibration.in_units(theirs),
            target_range=None if model.target_range is None else tuple(np.ldexp(model.target_range, theirs)),
        )


def _gaussian(gaussian: Gaussian, units: np.ndarray) -> Gaussian:
    dense = gaussian.dense
    return Gaussian(
        np.ldexp(gaussian.means, units),
        np.ldexp(gaussian.loadings, units[:, None]),
        np.ldexp(gaussian.noise, 2 * units),
        None if dense is None else np.ldexp(dense, units[:, None] + units),
    )
