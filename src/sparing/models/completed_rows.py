"""Partly seen rows, completed by draws of their unseen values from a model of the attributes."""

from collections.abc import Iterator

import numpy as np

from sparing.cells import Cells
from sparing.models.bases import Basis
from sparing.models.em import StandardizedCells
from sparing.models.gaussian import Gaussian
from sparing.models.risk import solved_by_seen
from sparing.models.summary import Summary
from sparing.models.trees import rows_with_holes

DRAWS = 8  # of each row


def completed_rows(
    columns: Cells,
    functions: Cells,
    basis: Basis | None,
    summary: Summary,
    gaussian: Gaussian,
    levels: np.ndarray | None,
) -> Iterator[np.ndarray]:
    r"""Whole rows of examples, each an independent draw of the unseen values given the seen ones.

    The model is of ``functions``, which are functions of the ``columns``, or these themselves. If z is a draw from the
    model that knows nothing of an example, then :math:`z + \Sigma_{\cdot S} \Sigma_{SS}^{-1} (x_S - z_S)` is a draw
    given :math:`x_S` (Matheron's rule). Different examples share their z, one example has a different one each time.
    Rows that are whole already are returned once.
    """
    rows, data = rows_with_holes(columns), StandardizedCells(functions, summary)
    holes, places, at = np.isnan(rows), data.places, data.looks.attributes
    if not holes.any():
        yield rows
        return
    examples = np.repeat(np.arange(len(rows)), np.diff(data.looks.starts))
    spreads, means = summary.spreads[at], summary.means[at]
    seen, drawn = data.looks.values * spreads + means, gaussian.simulate(len(rows), np.random.default_rng(0))
    for number in range(DRAWS):
        z = np.roll(drawn, number, axis=0)
        solved, _ = solved_by_seen(data, gaussian, (seen - z[examples, at]) / spreads)
        z = (z + gaussian.times(solved.toarray().T).T)[places]
        yield np.where(holes, z if basis is None else basis.inverse(z, levels), rows)
