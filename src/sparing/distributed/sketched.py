"""Sketched estimators on many machines."""

import numpy as np
from dask import delayed
from distributed import Client
from sklearn.utils import check_array

from sparing import checks
from sparing.distributed.blocks import Blocks, publish_columns
from sparing.distributed.least_squares import LeastSquaresInParts
from sparing.distributed.parts import Parts
from sparing.distributed.rows_in_parts import Block, RowsInParts
from sparing.estimators import SketchedRidge
from sparing.linalg.rows import Rows
from sparing.solvers.ridge import METHODS, SKETCHES, solved


def fit_ridge(estimator: SketchedRidge, blocks: Blocks, client: Client) -> None:
    """Fit as ``estimator.fit`` does on an array of the same rows."""
    ridge, tol = checks.positive("alpha", estimator.alpha), checks.positive("tol", estimator.tol)
    max_iter = checks.whole("max_iter", estimator.max_iter)
    checks.one_of("solver", estimator.solver, METHODS)
    checks.one_of("sketch", estimator.sketch, SKETCHES)
    if estimator.radius is not None or estimator.sketch == "srht":
        option = "radius=" if estimator.radius is not None else "sketch='srht'"
        raise ValueError(f"{option} is for one machine, where all rows are in one place; leave it out.")
    parts = loaded(blocks, client)
    sums, target_sums = parts.summed(column_sums)
    shift, target_means = (
        (sums / blocks.n_rows, target_sums / blocks.n_rows) if estimator.fit_intercept else (None, 0.0)
    )
    rows = RowsInParts(parts.each(centred, shift, target_means), (blocks.n_rows, blocks.n_attributes), shift)
    problem = LeastSquaresInParts(rows, target_sums.size, ridge, tol, max_iter)
    rng = np.random.default_rng(checks.seed(estimator.random_state))
    solution = solved(problem, estimator.solver, estimator.sketch, ridge, rng)
    publish_columns(estimator, blocks)
    estimator._centre = (shift, target_means)
    estimator._publish(solution)
    if not blocks.several:
        estimator.coef_ = estimator.coef_[0]
        estimator.intercept_ = float(np.ravel(estimator.intercept_)[0])


def loaded(blocks: Blocks, client: Client, classes: np.ndarray | None = None) -> Parts:
    """All blocks in the memory of the workers, because every step reads them; classes as numbers."""
    if blocks.n_rows < blocks.n_attributes:
        raise ValueError(
            f"X has {blocks.n_rows} rows for {blocks.n_attributes} columns: with fewer rows than columns, fit on one "
            "machine."
        )
    tasks = [
        delayed(_block, pure=False)(X, y, start, classes)
        for X, y, start in zip(blocks.X, blocks.y, blocks.starts, strict=True)
    ]
    return Parts(client, client.compute(tasks))


def _block(X, y, start: int, classes: np.ndarray | None) -> Block:
    y = y if classes is None else np.searchsorted(classes, y)
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", input_name="X")
    return Block(Rows(X), checks.targets(y, X.shape[0]).astype(X.dtype, copy=False), start)


def column_sums(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Sums of the columns and of the targets of a block."""
    return np.asarray(block.rows.X.sum(axis=0)).ravel(), block.targets.sum(axis=0)


def centred(block: Block, shift: np.ndarray | None, target_means) -> Block:
    """A block minus these means; its rows are not copied."""
    return Block(Rows(block.rows.X, shift=shift), block.targets - target_means, block.start)
