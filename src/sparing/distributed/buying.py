"""Buying on the workers, by global row numbers; all workers wait for each new plan."""

from copy import copy
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from distributed import Client, Future

from sparing import checks
from sparing.cells import Cells
from sparing.cells.pieces import PIECE
from sparing.distributed.blocks import Blocks
from sparing.distributed.cells_in_parts import CellsInParts
from sparing.distributed.parts import Parts, hold
from sparing.estimators.labels import signs
from sparing.learners.keeping import KeepingLearner


class Books(NamedTuple):
    """What some purchases add to a ledger."""

    bought: tuple[int, int, int]  # examples, cells, and units of money
    in_vain: tuple[int, ...]  # unavailable values, by attribute


def buy(learner: KeepingLearner, blocks: Blocks, classes: np.ndarray | None, client: Client) -> None:
    """Let a learner buy values of all rows, as ``learner.run`` would: the query of a row depends on its number.

    The plan for a row depends on earlier rows, so blocks are divided where a new plan begins.
    """
    cells: dict[int, Future] = {}  # by the block that they were bought of
    done, d, m = 0, learner.n_attributes, learner.n_outputs
    while done < blocks.n_rows:
        last = min(learner.next_plan, blocks.n_rows)
        _ = learner.buyer.plan.inclusion  # computed here, once, and not by every worker
        shared = hold(client, (learner.buyer, m, classes))
        made = _purchases(blocks, done, last, shared, client)
        for books in client.gather(client.map(_books, made.values(), pure=False)):
            learner.buyer.ledger.record(*books.bought)
            learner._recall_in_vain(books.in_vain)
        before = [cells.get(block) for block in made]
        cells |= dict(zip(made, client.map(_cells, list(made.values()), before, pure=False), strict=True))
        learner.bought = CellsInParts(Parts(client, cells.values()), last, d, m)  # type: ignore[assignment]
        learner._move_on()
        done = last


def _purchases(blocks: Blocks, first: int, last: int, shared: Future, client: Client) -> dict[int, Future]:
    """What is bought of the rows from first to last, block by block."""
    tasks = {}
    for block, (start, size) in enumerate(zip(blocks.starts, blocks.sizes, strict=True)):
        begin, end = max(first - start, 0), min(last - start, size)
        if begin < end:
            tasks[block] = blocks.task(purchase, block, shared, start, begin, end)
    return dict(zip(tasks, client.compute(list(tasks.values())), strict=True))


def purchase(X, y, shared, start: int, first: int, last: int) -> tuple[Cells, Books]:
    """Buy values of some rows of a block that begins at row ``start``; return the cells, and what they cost."""
    buyer, n_outputs, classes = shared
    buyer = copy(buyer)  # the one on this worker is shared
    ledger = buyer.ledger = replace(buyer.ledger, examples=0, cells=0, spent_units=0, in_vain=())
    cells = Cells(buyer.shop.n_attributes, n_outputs=n_outputs)
    X = checks.matrix(X, buyer.shop.n_attributes)
    y = checks.targets(y if classes is None else signs(y, classes), X.shape[0])
    cells.reserve(last - first, buyer.expected_cells(last - first))
    step = max(1, PIECE // buyer.shop.most)
    try:
        for at in range(first, last, step):  # not all at once, as that would take more memory than the rows
            buyer.buy(X, y, start + at, at, min(at + step, last), cells.extend)
    except checks.InfiniteValue as error:
        raise checks.InfiniteValue(f"of the block that begins at row {start}: {error}") from error
    return cells, Books((ledger.examples, ledger.cells, ledger.spent_units), ledger.in_vain)


def _cells(bought: tuple, before: Cells | None) -> Cells:
    return bought[0] if before is None else Cells.merge([before, bought[0]])


def _books(bought: tuple) -> Books:
    return bought[1]
