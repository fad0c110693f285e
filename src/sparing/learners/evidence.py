"""What the cells bought so far show about each item for sale, from which an adaptive design decides where to look."""

import numpy as np

from sparing import designs
from sparing.buying.shop import Shop
from sparing.cells import Cells
from sparing.models.bases import transformed
from sparing.models.scaling import extreme_units, in_moderate_units
from sparing.models.selection import planning_weights


def evidence(
    bought: Cells, shop: Shop, levels: np.ndarray | None, second_moments: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The variance of each item, the size of its weight in a quick fit, and the looks at each of its attributes.

    Variances are upper bounds, unless second moments are known. Without these, columns that hardly varied are taken to
    be like the others.
    """
    cells = bought.to_learn_from()
    cells = in_moderate_units(cells, units) if (units := extreme_units(cells)).any else cells
    basis, cells, summary = transformed(None, levels, cells)
    weights = planning_weights(cells, summary) / summary.target_spreads
    used = np.where(summary.known, np.square(weights).sum(axis=1) * summary.variances, 0.0)
    spread = designs.upper_variances(summary.variances / summary.ranges**2, summary.counts)
    if second_moments is None:
        rate = designs.rate_where_unknown(summary.varied, summary.counts, summary.enough)
        spread = np.where(summary.known, spread, np.minimum(spread, rate))
        used = designs.typical_where_unknown(used, spread, summary.known)
    counts = bought.summed(looks)
    if basis is not None:  # one purchase of a column serves all its functions
        used = basis.by_column(used, 0.0)
        spread = basis.by_column(spread, designs.upper_variances(np.zeros(bought.n_attributes), counts))
        if second_moments is None:
            used = designs.typical_where_unknown(used, spread, np.diff(basis.starts) > 0)
    variances = shop.total(spread if second_moments is None else second_moments)
    sizes = np.sqrt(shop.total(used) / np.maximum(variances, np.finfo(float).tiny))
    return variances, sizes, shop.total(counts) / np.diff(shop.starts)


def looks(cells: Cells) -> np.ndarray:
    """How often each attribute was looked at."""
    pieces = (np.bincount(piece.attributes, minlength=cells.n_attributes) for piece in cells.pieces(in_order=False))
    return sum(pieces, np.zeros(cells.n_attributes, np.int64))
