"""Buying on the workers, by global row numbers; all workers wait for each new plan."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from distributed import Client, Future

from sparing import checks
from sparing.cells import Cells
from sparing.cells.pieces import SUMMED
from sparing.distributed.blocks import Blocks
from sparing.distributed.cells_in_parts import CellsInParts
from sparing.distributed.parts import Parts, hold
from sparing.estimators.labels import signs
from sparing.learners.keeping import KeepingLearner
from sparing.types import Ledger

ROWS_TO_PLAN_BESIDE = 40  # per column; with fewer, a plan would add more than a tenth to the memory of a block


class Books(NamedTuple):
    """The amounts that some purchases add to a ledger."""

    bought: tuple[int, int, int]  # examples, cells, and units of money
    in_vain: tuple[int, ...]  # unavailable values, by attribute


class Beginning(NamedTuple):
    """What a learner bought from the first block, and its state after it."""

    cells: Cells
    books: Books
    next_plan: int
    shares: np.ndarray


def buy(learner: KeepingLearner, blocks: Blocks, classes: np.ndarray | None, client: Client) -> None:
    """Let a learner buy values of all rows, as ``learner.run`` would: the query of a row depends on its number.

    The plan for a row depends on earlier rows, so blocks are divided where a new plan begins. The first plans follow
    each other quickly. Those that begin in the first block are made on its worker, by the task that buys from it,
    unless matrices of all pairs of columns are large compared with the block.
    """
    cells: dict[int, Future] = {}  # by the block from which they were bought
    done, d, m = 0, learner.n_attributes, learner.n_outputs

    def keep(bought: dict[int, Future]) -> None:
        cells.update(bought)
        learner.bought = CellsInParts(Parts(client, cells.values()), done, d, m)  # type: ignore[assignment]

    if learner.next_plan < blocks.sizes[0] and blocks.sizes[0] >= ROWS_TO_PLAN_BESIDE * d:
        made = client.compute(blocks.task(beginning, 0, hold(client, (learner, classes))))
        done = blocks.sizes[0]
        keep({0: client.submit(_cells, made, None, pure=False)})
        _go_on(learner, *client.submit(_standing, made, pure=False).result())
    while done < blocks.n_rows:
        last = min(learner.next_plan, blocks.n_rows)
        _ = learner.buyer.plan.inclusion  # computed once here, not by every worker
        shared = hold(client, (learner.buyer, m, classes))
        made = _purchases(blocks, done, last, shared, client)
        for books in client.gather(client.map(_books, made.values(), pure=False)):
            learner.buyer.ledger.record(*books.bought)
            learner._recall_in_vain(books.in_vain)
        before, done = [cells.get(block) for block in made], last
        keep(dict(zip(made, client.map(_cells, list(made.values()), before, pure=False), strict=True)))
        learner._move_on()


def _go_on(learner: KeepingLearner, books: Books, next_plan: int, shares: np.ndarray) -> None:
    """Continue from the state of another learner after the first block."""
    examples, cells, units = books.bought
    learner._recall_in_vain(books.in_vain)
    learner._go_on(examples, cells, learner.buyer.ledger.amount(units), next_plan, shares)


def _purchases(blocks: Blocks, first: int, last: int, shared: Future, client: Client) -> dict[int, Future]:
    """What is bought from the rows from first to last, block by block."""
    tasks = {}
    for block, (start, size) in enumerate(zip(blocks.starts, blocks.sizes, strict=True)):
        begin, end = max(first - start, 0), min(last - start, size)
        if begin < end:
            tasks[block] = blocks.task(purchase, block, shared, start, begin, end)
    return dict(zip(tasks, client.compute(list(tasks.values())), strict=True))


def beginning(X, y, shared) -> Beginning:
    """Buy values of the first block as on one machine, with all the plans that begin in it."""
    learner, classes = shared
    learner = deepcopy(learner)  # the one on this worker is shared
    X, y = _checked(X, y, learner.n_attributes, classes)
    with _naming_block(0):
        learner.run_checked(X, y)
    ledger = learner.buyer.ledger
    return Beginning(learner.bought, _added_to(ledger), learner.next_plan, learner.buyer.plan.shares)


def purchase(X, y, shared, start: int, first: int, last: int) -> tuple[Cells, Books]:
    """Buy values of some rows of a block that begins at row ``start``; return the cells, and what they cost."""
    buyer, n_outputs, classes = shared
    buyer = copy(buyer)  # the one on this worker is shared
    ledger = buyer.ledger = replace(buyer.ledger, examples=0, cells=0, spent_units=0, in_vain=())
    cells = Cells(buyer.shop.n_attributes, n_outputs=n_outputs)
    X, y = _checked(X, y, buyer.shop.n_attributes, classes)
    cells.reserve(last - first, buyer.expected_cells(last - first))
    step = max(1, SUMMED // buyer.shop.most)
    with _naming_block(start):
        for at in range(first, last, step):  # all at once would take more memory than the rows
            buyer.buy(X, y, start + at, at, min(at + step, last), cells.extend)
    return cells, _added_to(ledger)


def _checked(X, y, n_attributes: int, classes: np.ndarray | None) -> tuple[Any, np.ndarray]:
    """Rows, and targets as numbers."""
    checks.refuse_missing_targets(y)
    X = checks.matrix(X, n_attributes)
    return X, checks.targets(y if classes is None else signs(y, classes), X.shape[0])


@contextmanager
def _naming_block(start: int) -> Iterator[None]:
    """Add the block to errors, which count the rows of a block from 0 on."""
    try:
        yield
    except checks.InfiniteValue as error:
        raise checks.InfiniteValue(f"of the block that begins at row {start}: {error}") from error


def _added_to(ledger: Ledger) -> Books:
    return Books((ledger.examples, ledger.cells, ledger.spent_units), ledger.in_vain)


def _standing(begun: Beginning) -> tuple[Books, int, np.ndarray]:
    return begun.books, begun.next_plan, begun.shares


def _cells(bought: tuple, before: Cells | None) -> Cells:
    return bought[0] if before is None else Cells.merge([before, bought[0]])


def _books(bought: tuple) -> Books:
    return bought[1]
