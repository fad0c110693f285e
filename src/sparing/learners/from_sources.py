"""How keeping learners buy from sources that answer for more than one example at a time."""

from math import ceil

import numpy as np

from sparing.buying.shop import Shop
from sparing.sources.batches import buy_batch
from sparing.types import BatchSource, BlockSource, Ledger

BATCH = 1000  # examples per batch
KEPT = 250_000  # cells kept of blocks: more rows of the same columns add little, and all families remain affordable
KEPT_WHOLE = 10_000_000  # cells kept if rows are whole, for which simple models suffice


def learn_batches(learner, source: BatchSource, y, weights, ledger: Ledger | None, progress) -> None:
    """Let a learner buy values of many examples at once, with the same result as one by one under the same plan."""
    first, buyer = 0, learner.buyer
    ledger = Ledger() if ledger is None else ledger
    most = 1 if buyer.refunds else BATCH  # a refund may be spent on the next example
    while first < source.n_examples:
        last = min(first + min(learner._chunk(), most), source.n_examples)
        queries = buyer.queries(learner.n_rounds, last - first)
        asked = [at for at, query in enumerate(queries) if query.attributes.size]  # empty once the money is spent
        ledger.record(len(queries) - len(asked), 0, 0)  # examples without purchases count, too
        answers = buy_batch(source, first + np.array(asked, int), [queries[at].attributes for at in asked], ledger)
        values = dict(zip(asked, answers, strict=True))
        for at, query in enumerate(queries):
            told = values.get(at, np.empty(0))
            ledger.give_back(query.attributes[np.isnan(told)])
            learner.tell(query, told, y[first + at], weight=None if weights is None else weights[first + at])
        if progress is not None:
            progress(last - first)
        first = last


def learn_blocks(learner, source: BlockSource, y, weights, ledger: Ledger | None, progress) -> None:
    """Let a learner buy values block by block, with one query for all examples of a block.

    Blocks come in random order, so that the first plan does not depend on the first rows of a sorted file alone. Of a
    large block, only some evenly spaced examples are kept.
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
            else:  # the money is spent, so nothing is read
                values = np.empty((rows.size, 0))
        ledger.give_back(query.attributes[np.nonzero(np.isnan(values))[1]])
        known = None if weights is None else weights[examples]
        learner.keep_block(earlier + int(block), query, values, y[examples], known)
        if progress is not None:
            progress(int(sizes[block]))


def examples_per_block(shop: Shop, n_blocks: int) -> int:
    """The maximum number of examples to keep of each block."""
    kept = KEPT_WHOLE if rotation(shop) <= 1 else KEPT
    return max(1, kept // (n_blocks * shop.most))


def rotation(shop: Shop) -> int:
    """The number of blocks after which every item has had its turn."""
    return ceil(shop.prices[shop.for_sale].sum() / max(shop.budget, 1))
