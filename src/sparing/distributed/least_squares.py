"""Ridge regression on rows that stay on the workers: they compute products and sketches, the client the steps."""

from typing import NamedTuple, cast

import numpy as np

from sparing.distributed.parts import Parts
from sparing.distributed.rows_in_parts import Block, RowsInParts, dense
from sparing.geometry.leverage import DIRECTIONS, FIRST_SIZE, GROWTH, PRECONDITIONER, sketch_size
from sparing.linalg.inverses import RidgeInverse
from sparing.linalg.rows import Rows
from sparing.solvers.certificates import Certificate, ResidualSums, certify_sums, residual_sums
from sparing.solvers.least_squares import LeastSquares, Preconditioner
from sparing.types import Solution


class LeastSquaresInParts(LeastSquares):
    """A ridge problem on many machines, none of which holds anything of the size of all rows."""

    rows: RowsInParts  # type: ignore[assignment]

    def __init__(self, rows: RowsInParts, n_targets: int, ridge: float, tol: float, max_iter: int):
        self.rows, self.ridge, self.max_iter = rows, ridge, max_iter
        self.targets = np.empty((0, n_targets))  # the targets are on the workers
        self.right, self.total = rows.parts.summed(_with_targets)
        self.tol = max(tol, float(np.finfo(rows.dtype).eps))

    def direct(self, inverse: RidgeInverse | None = None) -> Solution:
        """A Cholesky factorisation; a QR factorisation would need all rows on one machine."""
        return self.descend(self.whole(inverse), None)

    def sketched(self, sketch: str, ridge: float, rng, most: int | None = None) -> Preconditioner:
        """A sketch of rows sampled by leverage, or uniformly, with the same random numbers as on one machine.

        Starts from upper bounds on the scores; each sample gives tighter ones, as
        :func:`sparing.geometry.leverage.draw_by_leverage` does.
        """
        scored = self.rows.parts.each(_bounded, ridge)
        total, size, most_rows = scored.summed(_score), FIRST_SIZE, min(self.rows.shape[0], most or self.rows.shape[0])
        wanted = float(most_rows)
        while size < most_rows:
            scored = scored.each(_tightened, self._directions(self._draw(scored, size, total, rng), ridge, rng))
            total = scored.summed(_score)
            wanted = sketch_size(min(total, *self.rows.shape), PRECONDITIONER)
            size *= GROWTH
            if wanted <= size:
                break
        if most is not None and wanted > most:
            return self.plain()
        rows = self._draw(scored, min(wanted, most_rows), total, rng)
        if sketch == "uniform":
            rows = self._draw(scored.each(_equal), rows.shape[0], float(self.rows.shape[0]), rng)
        inverse = RidgeInverse(rows, ridge)
        dimension = float(np.sqrt(inverse.within.effective_dimension * min(total, *self.rows.shape)))
        return Preconditioner(inverse, rows.shape[0], dimension, slack=inverse.within.ridge / self.ridge)

    def _draw(self, scored: Parts, size: float, total: float, rng) -> Rows:
        """Rows drawn with probabilities proportional to their scores, rescaled and collected on the client."""
        factor = size / (total or 1.0)
        found = np.concatenate(scored.each(_drawn, factor, rng.bit_generator.state).gathered())
        skip(rng, self.rows.shape[0])  # as if all numbers had been drawn here
        if not len(found):  # the ridge dominates, and one row is enough
            _, found = scored.summed(_foremost, factor, combine=_higher)
        return Rows(found)

    def _directions(self, sketch: Rows, ridge: float, rng) -> np.ndarray:
        """Random directions, along which the mean squares of rows are their leverage scores."""
        g, h = (rng.standard_normal((size, DIRECTIONS), dtype=sketch.dtype) for size in sketch.shape)
        return RidgeInverse(sketch, ridge)(sketch.transposed(g) + np.sqrt(ridge) * h)

    def _certificate(self, made: Preconditioner, W: np.ndarray, dual: np.ndarray | None) -> Certificate:
        W, inverse = W.astype(np.float64), made.inverse if isinstance(made.inverse, RidgeInverse) else None
        sums = self.rows.parts.summed(_residuals, W)
        return certify_sums(sums, self.rows.shape[0], self.ridge, W, inverse, made.slack)


class Scored(NamedTuple):
    """A block, and a score for each of its rows."""

    block: Block
    scores: np.ndarray


def _with_targets(block: Block) -> tuple[np.ndarray, np.ndarray]:
    return block.rows.transposed(block.targets), np.einsum("ij,ij->j", block.targets, block.targets)


def _residuals(block: Block, W: np.ndarray) -> ResidualSums:
    return residual_sums(block.rows, block.targets, W)


def _bounded(block: Block, ridge: float) -> Scored:
    return Scored(block, np.minimum(1.0, block.rows.squared_norms() / ridge))


def _tightened(scored: Scored, directions: np.ndarray) -> Scored:
    scores = np.mean(np.square(scored.block.rows @ directions), axis=1)
    return scored._replace(scores=np.minimum(scored.scores, scores))


def _equal(scored: Scored) -> Scored:
    return scored._replace(scores=np.ones_like(scored.scores))


def _score(scored: Scored) -> float:
    return float(scored.scores.sum())


def skip(rng: np.random.Generator, n: int) -> None:
    """Skip n random numbers of 64 bits; a stored half of 32 bits is kept."""
    generator = cast(np.random.PCG64, rng.bit_generator)
    before = generator.state
    generator.advance(n)
    generator.state = {**before, "state": generator.state["state"]}


def _drawn(scored: Scored, factor: float, state: dict) -> np.ndarray:
    """The rows of a block that are drawn; the random numbers of a row follow from its number among all rows."""
    rng = np.random.default_rng()
    rng.bit_generator.state = state
    skip(rng, scored.block.start)
    chances = np.minimum(1.0, factor * scored.scores)
    indices = np.flatnonzero(rng.random(len(chances)) < chances)
    return dense(scored.block.rows, indices, 1.0 / np.sqrt(chances[indices]))


def _foremost(scored: Scored, factor: float) -> tuple[float, np.ndarray]:
    """The highest score of a block, and its row as it would be drawn."""
    at = np.argmax(scored.scores, keepdims=True)
    chance = np.maximum(factor * scored.scores[at], np.finfo(float).tiny)
    return float(scored.scores[at[0]]), dense(scored.block.rows, at, 1.0 / np.sqrt(chance))


def _higher(one: tuple[float, np.ndarray], other: tuple[float, np.ndarray]) -> tuple[float, np.ndarray]:
    return other if other[0] > one[0] else one
