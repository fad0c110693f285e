"""Rows on the workers, for the solvers: products per block, added by a tree; the client has no n-vector."""

from typing import NamedTuple

import numpy as np

from sparing.distributed.parts import Parts
from sparing.linalg.rows import Rows


class Block(NamedTuple):
    """Some centred rows, and their centred targets."""

    rows: Rows
    targets: np.ndarray
    start: int  # the number of the first of these rows among all


class RowsInParts:
    """All rows, with the methods of :class:`~sparing.linalg.rows.Rows` that :class:`LeastSquares` needs."""

    scale = None

    def __init__(self, parts: Parts, shape: tuple[int, int], shift: np.ndarray | None):
        self.parts, self.shape, self.shift = parts, shape, shift
        self.X = None  # never assembled on one machine
        self.is_sparse, self.dtype, self.n_values = parts.summed(_kind, combine=_kinds)

    def normal(self, V: np.ndarray) -> np.ndarray:
        """A^T A V."""
        return self.parts.summed(_normal, V)

    def normal_and_squares(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A^T A V, and the squared norms of the columns of A V."""
        return self.parts.summed(_normal_and_squares, V)

    def products(self) -> np.ndarray:
        """A^T A."""
        return self.parts.summed(_outer)

    def norm(self) -> float:
        """The Frobenius norm."""
        return float(np.sqrt(self.parts.summed(_squared_norm)))

    def take(self, indices: np.ndarray) -> Rows:
        """Selected rows on the client, in this order."""
        order = np.argsort(indices)
        found = np.empty((len(indices), self.shape[1]), self.dtype)
        found[order] = np.concatenate(self.parts.each(_rows, indices[order]).gathered())
        return Rows(found)


def _kind(block: Block) -> tuple[bool, np.dtype, int]:
    return block.rows.is_sparse, block.rows.dtype, block.rows.n_values


def _kinds(one: tuple, other: tuple) -> tuple:
    return one[0] and other[0], np.promote_types(one[1], other[1]), one[2] + other[2]


def _normal(block: Block, V: np.ndarray) -> np.ndarray:
    return block.rows.normal(V)


def _normal_and_squares(block: Block, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return block.rows.normal_and_squares(V)


def _outer(block: Block) -> np.ndarray:
    return block.rows.outer()


def _squared_norm(block: Block) -> float:
    return block.rows.norm() ** 2


def _rows(block: Block, indices: np.ndarray) -> np.ndarray:
    here = indices[(indices >= block.start) & (indices < block.start + block.rows.shape[0])] - block.start
    return dense(block.rows, here, np.ones(here.size))


def dense(rows: Rows, indices: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Some centred rows, each times its factor, as an array."""
    return np.ascontiguousarray(rows.take(indices, factors).columns(slice(None)).T)
