"""Purchases from sources that answer for many examples at once."""

import numpy as np

from sparing.checks import InfiniteValue
from sparing.types import BatchSource, Ledger, OverBudget, RefusedPurchase


def buy_batch(source: BatchSource, examples: np.ndarray, queries: list[np.ndarray], ledger: Ledger) -> list[np.ndarray]:
    """The values of many examples. All are booked before any is read; those that are not bought are cancelled."""
    n_booked = 0
    try:
        for attributes in queries:
            ledger.book(attributes)
            n_booked += 1
        return source.read_batch(examples, queries)
    except Exception as error:
        nothing_bought = isinstance(error, OverBudget | RefusedPurchase | InfiniteValue)
        for at in getattr(error, "not_bought", range(n_booked if nothing_bought else 0)):
            ledger.cancel(queries[at])
        raise
