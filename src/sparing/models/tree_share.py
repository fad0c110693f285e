"""The share of boosted trees in a model's predictions, regressed on held-out examples."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from sparing.cells import Cells
from sparing.models.cross_validation import CrossValidation, Split, worse
from sparing.models.gaussian import FittedModel
from sparing.models.trees import JUDGED, BoostedTrees, mostly_seen, rows_with_holes


def averaged_with_trees(
    model: FittedModel,
    cells: Cells,
    parts: Sequence[Split],
    judged: CrossValidation,
    ours: np.ndarray,
    shrinkage: float,
    levels: np.ndarray | None,
    step: Callable[[], None],
) -> tuple[FittedModel, np.ndarray]:
    """The model averaged with boosted trees, if that predicts held-out targets better; and its held-out predictions.

    These replace ``ours`` as far as folds were judged: predictions from what was seen, and with a part of it hidden.
    Trees add interactions of columns. If interactions matter little, the first fold shows it, and trees are left out.

    The share of the trees is regressed on seen parts of rows. On whole rows less is left to explain: with the same
    correlation and errors that are ``shrinkage`` times as large, the share is ``shrinkage`` times as large, too. If
    most values were seen, trees predict worse than the model without them, so rows known in part have their own share.
    """
    if not all(len(split.learnt) for split in parts):
        return model, ours
    trees, roots = BoostedTrees(cells, levels), np.sqrt(judged.examples[:, None])
    moves = np.empty((2, 0, cells.n_outputs))
    for fold, (split, fits) in enumerate(zip(parts[:JUDGED], judged.fits, strict=False)):
        theirs = [trees.predict_without(fold, rows_with_holes(held_out)) for held_out in (split.judged, split.hidden)]
        step()
        here = slice(moves.shape[1], moves.shape[1] + split.judged.n_examples)
        theirs = (np.stack(theirs) - fits.summary.target_means) / fits.summary.target_spreads
        moves = np.concatenate([moves, theirs - ours[:, here]], axis=1)
        residuals, weighted = (roots * (judged.targets - ours[0]))[: here.stop], roots[: here.stop] * moves[0]
        share = _regressed(residuals, weighted)
        gains = np.mean(residuals**2 - (residuals - share * weighted) ** 2, axis=1)
        if not worse(gains, 0.0 * gains, None if judged.blocks is None else judged.blocks[: here.stop]):
            return model, ours
        if trees.take_long:
            trees.fit()  # the rest at once: a second fold rarely says no where a first said yes
    in_part, ours = share, ours[:, : here.stop]
    if mostly_seen(cells):
        sizes = np.concatenate([np.diff(split.judged.starts) for split in parts[:JUDGED]])
        which = np.stack([sizes < cells.n_attributes, np.full(sizes.size, True)])
        residuals = roots[: here.stop] * (judged.targets[: here.stop] - ours)
        in_part = _regressed(residuals[which], (roots[: here.stop] * moves)[which])
    model = replace(model, trees=trees.fit(), trees_share=share * shrinkage, trees_share_in_part=in_part)
    return model, ours + np.array([share, in_part])[:, None, None] * moves


def _regressed(residuals: np.ndarray, moves: np.ndarray) -> float:
    """The share of moves that explains residuals best."""
    return float(np.clip(np.sum(residuals * moves) / max(np.sum(moves**2), np.finfo(float).tiny), 0.0, 1.0))
