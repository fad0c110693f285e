"""The share of boosted trees in a model's predictions, regressed on held-out examples."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sparing.cells import Cells
from sparing.models.blocks import standard_error
from sparing.models.completed_rows import completed_rows
from sparing.models.cross_validation import CrossValidation, Split, worse
from sparing.models.gaussian import FittedModel
from sparing.models.log_losses import log_losses
from sparing.models.trees import JUDGED, BoostedTrees, mostly_seen, rows_with_holes


class WithTrees(NamedTuple):
    """A model, averaged with boosted trees if they help, and what is known of its errors."""

    model: FittedModel
    held_out: np.ndarray  # predictions from what was seen, and with a part of it hidden: (2, n_judged, n_outputs)
    gains: np.ndarray  # by how much trees reduce the squared errors of these examples if rows are whole: (n_judged,)


def averaged_with_trees(
    model: FittedModel,
    cells: Cells,
    parts: Sequence[Split],
    judged: CrossValidation,
    ours: np.ndarray,
    best: int,
    levels: np.ndarray | None,
    classes: bool,
    step: Callable[[], None],
) -> WithTrees:
    """The model averaged with boosted trees, if that predicts held-out targets better.

    Held-out predictions replace ``ours`` as far as folds were judged. Trees add interactions of columns. If these
    matter little, the first fold shows it, and trees are left out. ``classes`` are judged by log losses.

    If most values were seen, trees predict worse from less, so rows known in part have a share of their own, regressed
    on examples as they were seen and with a part hidden. The share for whole rows is another one
    (:func:`_share_on_whole_rows`), for which the ``best`` candidate describes the attributes.
    """
    without = WithTrees(model, ours, np.zeros(ours.shape[1]))
    if not all(len(split.learnt) for split in parts) or not np.ptp(cells.targets):
        return without
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
        before, after = (np.mean(left**2, axis=1) for left in (residuals, residuals - share * weighted))
        if classes:
            targets, own, weights = (of[: here.stop] for of in (judged.targets, ours[0], judged.examples))
            before, after = (log_losses(targets, made, weights) for made in (own, own + share * moves[0]))
        if not worse(before, after, None if judged.blocks is None else judged.blocks[: here.stop]):
            return without
        if trees.take_long:
            trees.fit()  # the rest at once: a second fold rarely says no where a first said yes
    in_part, ours = share, ours[:, : here.stop]
    if mostly_seen(cells):
        sizes = np.concatenate([np.diff(split.judged.starts) for split in parts[:JUDGED]])
        which = np.stack([sizes < cells.n_attributes, np.full(sizes.size, True)])
        residuals = roots[: here.stop] * (judged.targets[: here.stop] - ours)
        in_part = _regressed(residuals[which], (roots[: here.stop] * moves)[which])
    whole, gains = _share_on_whole_rows(trees, judged, ours[0], best, levels)
    if whole or in_part:
        model = replace(model, trees=trees.fit(), trees_share=whole, trees_share_in_part=in_part)
    return WithTrees(model, ours + np.array([share, in_part])[:, None, None] * moves, gains)


def _share_on_whole_rows(
    trees: BoostedTrees, judged: CrossValidation, ours: np.ndarray, best: int, levels: np.ndarray | None
) -> tuple[float, np.ndarray]:
    r"""The share of the trees in predictions for whole rows, and what they gain there, from held-out examples.

    On whole rows trees may count the same information several times: fitted to rows of a few values, they take each
    column as a substitute for all that it is correlated with. With the trees' predictions T for whole rows, and those
    of the model, M, the expectations of both given the seen values are known: M's is its prediction from these, and T's
    is the mean over rows completed by draws. The share is the regression of :math:`y - E[M | x_S]` on
    :math:`E[T - M | x_S]` (:func:`likely_share`). The variance of the mean over a few draws is subtracted from the
    squares.
    """
    products, squares, first = np.zeros(len(ours)), np.zeros(len(ours)), 0
    for fold, (split, fits) in enumerate(zip(judged.parts[:JUDGED], judged.fits, strict=False)):
        here = slice(first, first := first + split.judged.n_examples)
        rows = completed_rows(split, fits.summary, fits.candidates[best].attributes(), levels)
        theirs = np.stack([trees.predict_without(fold, completed) for completed in rows])
        moves = (theirs - fits.summary.target_means) / fits.summary.target_spreads - ours[here]
        mean, noise = moves.mean(axis=0), moves.var(axis=0) / max(len(moves) - 1, 1)
        products[here] = judged.examples[here] * np.mean((judged.targets[here] - ours[here]) * mean, axis=1)
        squares[here] = judged.examples[here] * np.mean(mean**2 - noise, axis=1)
    if products.sum() <= 0 or squares.sum() <= 0:
        return 0.0, np.zeros(len(ours))
    share = likely_share(products, squares, None if judged.blocks is None else judged.blocks[: len(ours)])
    return share, 2.0 * share * products - share**2 * squares


def likely_share(products: np.ndarray, squares: np.ndarray, blocks: np.ndarray | None = None) -> float:
    r"""The slope of a regression, reduced by its uncertainty, from the products and squares of each example.

    With a slope of b and a standard error of s it is :math:`b^3 / (b^2 + s^2)`, which minimises the expected squared
    error of multiples of b. A slope above one counts as one: if one extreme target decides, it may be 4 with an error
    of 3.
    """
    slope = float(products.mean() / squares.mean())
    error = standard_error(products - slope * squares, blocks) / squares.mean()
    likely = min(slope, 1.0)
    return float(likely**3 / (likely**2 + error**2))


def _regressed(residuals: np.ndarray, moves: np.ndarray) -> float:
    """The share of moves that explains residuals best."""
    return float(np.clip(np.sum(residuals * moves) / max(np.sum(moves**2), np.finfo(float).tiny), 0.0, 1.0))
