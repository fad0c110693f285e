"""Purchases from sources that answer for many examples at once."""

import numpy as np

from sparing import checks
from sparing.types import BatchSource, Ledger, OverBudget, RefusedPurchase


def buy_batch(source: BatchSource, examples: np.ndarray, queries: list[np.ndarray], ledger: Ledger) -> list[np.ndarray]:
    """The values of many examples. All are booked before any is read; those that are not bought are cancelled.

    If one of the values is infinite, none of them counts as bought.
    """
    n_booked = 0
    try:
        for attributes in queries:
            ledger.book(attributes)
            n_booked += 1
        answers = source.read_batch(examples, queries)
        for example, attributes, values in zip(examples, queries, answers, strict=True):
            checks.no_infinity(np.asarray(values, np.float64)[None], int(example), attributes)
        return answers
    except Exception as error:
        nothing_bought = isinstance(error, OverBudget | RefusedPurchase | checks.InfiniteValue)
        for at in getattr(error, "not_bought", range(n_booked if nothing_bought else 0)):
            ledger.cancel(queries[at])
        raise
