"""Purchases of many cases from a source that may fail."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from sparing import BudgetClassifier
from sparing.sources import CallableSource
from sparing.types import Ledger, RefusedPurchase, UnknownPurchase


@pytest.mark.parametrize(("error", "cells"), [(RefusedPurchase, 0), (UnknownPurchase, 1)])
def test_what_may_have_been_bought_is_booked_and_what_was_refused_is_not(error, cells):
    """A source that fails at the first purchase."""

    def sell(case, columns):
        raise error("closed") if error is RefusedPurchase else error("no answer", "key")

    X, y = load_breast_cancer(return_X_y=True)
    model = BudgetClassifier(budget=6, features="linear", random_state=0).fit(X[:200], y[:200])
    ledger, source = Ledger(costs=np.ones(30)), CallableSource(sell, n_examples=3, n_attributes=30)
    with pytest.raises(error):
        model.buy(source, ledger=ledger, costs=np.ones(30), budget=2)
    assert ledger.cells == cells
