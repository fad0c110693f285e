"""Buying of sources that answer more than one example at a time, by learners that keep what they buy."""

from math import ceil

import numpy as np

from sparing.buying.shop import Shop
from sparing.types import BatchSource, BlockSource, Ledger, OverBudget, RefusedPurchase

BATCH = 1000  # examples
KEPT = 250_000  # cells of blocks: more rows of the same columns add little, and all families can be fitted to these
KEPT_WHOLE = 10_000_000  # the same, of whole rows, for which simple models do


def learn_batches(learner, source: BatchSource, y, weights, ledger: Ledger | None, progress) -> None:
    """Let a learner buy of many examples at once: the same as one by one, since a plan lasts for many."""
    first, buyer = 0, learner.buyer
    ledger = Ledger() if ledger is None else ledger
    most = 1 if buyer.refunds else BATCH  # what is given back may be spent on the next example
    while first < source.n_examples:
        last = min(first + min(learner._chunk(), most), source.n_examples)
        queries = buyer.queries(learner.n_rounds, last - first)
        asked = [at for at, query in enumerate(queries) if query.attributes.size]  # none, once the money is spent
        ledger.record(len(queries) - len(asked), 0, 0)  # examples of which nothing is bought count, too
        answers = _buy(source, first + np.array(asked, int), [queries[at].attributes for at in asked], ledger)
        values = dict(zip(asked, answers, strict=True))
        for at, query in enumerate(queries):
            told = values.get(at, np.empty(0))
            ledger.give_back(query.attributes[np.isnan(told)])
            learner.tell(query, told, y[first + at], weight=None if weights is None else weights[first + at])
        if progress is not None:
            progress(last - first)
        first = last


def _buy(source: BatchSource, examples: np.ndarray, queries: list[np.ndarray], ledger: Ledger) -> list[np.ndarray]:
    """Values of many examples, all booked before any is read; what turns out not to be bought is taken back."""
    n_booked = 0
    try:
        for attributes in queries:
            ledger.book(attributes)
            n_booked += 1
        return source.read_batch(examples, queries)
    except Exception as error:
        nothing_bought = isinstance(error, OverBudget | RefusedPurchase)
        for at in getattr(error, "not_bought", range(n_booked if nothing_bought else 0)):
            ledger.cancel(queries[at])
        raise


def learn_blocks(learner, source: BlockSource, y, weights, ledger: Ledger | None, progress) -> None:
    """Let a learner buy of one block after the other, with one query for all examples of a block.

    The order is random, so that the first blocks of a sorted file are not the ones that the first plan is made of. Of
    large blocks only some examples are asked for, evenly spaced.
    """
    ledger, sizes = Ledger() if ledger is None else ledger, np.asarray(source.blocks())
    starts, most = np.cumsum(sizes) - sizes, examples_per_block(learner.buyer.shop, sizes.size)
    earlier = 0 if learner.bought.blocks is None else int(learner.bought.blocks.max(initial=-1)) + 1
    learner.plan_after_rotation(np.minimum(sizes, most))
    for block in np.random.default_rng(learner.random_state).permutation(sizes.size):
        rows = np.unique(np.linspace(0, sizes[block] - 1, min(sizes[block], most)).astype(int))
        query, examples = learner.buyer.ask_block(int(starts[block]), rows.size), starts[block] + rows
        with ledger.purchase(query.attributes, rows.size):
            if query.attributes.size:
                values = source.read_block(int(block), query.attributes)[rows]
            else:  # the money is spent: nothing is read any more
                values = np.empty((rows.size, 0))
        ledger.give_back(query.attributes[np.nonzero(np.isnan(values))[1]])
        known = None if weights is None else weights[examples]
        learner.keep_block(earlier + int(block), query, values, y[examples], known)
        if progress is not None:
            progress(int(sizes[block]))


def examples_per_block(shop: Shop, n_blocks: int) -> int:
    """How many examples of each block are asked for at most."""
    kept = KEPT_WHOLE if rotation(shop) <= 1 else KEPT
    return max(1, kept // (n_blocks * shop.most))


def rotation(shop: Shop) -> int:
    """The number of blocks in which every item has its turn."""
    return ceil(shop.prices[shop.for_sale].sum() / max(shop.budget, 1))
