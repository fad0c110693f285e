"""Online learners on many machines: one for each block, and the average of their weights."""

import numpy as np
from dask import delayed
from distributed import Client
from sklearn.base import clone, is_regressor
from sklearn.linear_model import LinearRegression

from sparing import checks
from sparing.distributed.blocks import load, publish_columns
from sparing.distributed.budget import refuse_curves, started
from sparing.distributed.clients import client_in_use
from sparing.distributed.targets import refuse_bad_targets
from sparing.estimators.budget_base import BudgetEstimator


def average(estimator, X, y, client: Client | None = None) -> LinearRegression:
    r"""Fit a linear estimator to every block of rows separately, and average the weights.

    **This is another algorithm** than ``estimator.fit``: an online learner is sequential, and two machines cannot share
    its work. The average of :math:`k` fits to :math:`n/k` rows each has less variance than one of them, and the bias of
    :math:`n/k` rows (Zinkevich, Weimer, Smola & Li 2010). So blocks should be large, and rows in random order.

    Parameters
    ----------
    estimator : regressor with ``random_state``, and when fitted ``coef_`` and ``intercept_``
        Such as ``BudgetRidge(..., learner="online")`` or :class:`~sparing.OnlineRegressor`. Block k has the seed
        ``random_state`` + k.
    X, y, client
        As for :func:`fit`.

    Returns
    -------
    sklearn.linear_model.LinearRegression
        With the average, weighted by the rows of the blocks, and ``cells_``, the number of values read, if the
        estimator counts them. It is the same to the last bit for any number of workers.

    Examples
    --------
    >>> from dask import array
    >>> from distributed import Client, LocalCluster
    >>> from sparing import BudgetRidge, distributed
    >>> from sparing.datasets import make_power_law
    >>> X, y = make_power_law(4000, 10, -1.0, random_state=0, return_X_y=True)
    >>> rows, targets = array.from_array(X, chunks=(2000, 10)), array.from_array(y, chunks=2000)
    >>> with LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster, Client(cluster) as client:
    ...     model = distributed.average(BudgetRidge(4, learner="online", random_state=0), rows, targets)
    >>> model.cells_ <= 16000, bool(model.score(X, y) > 0.3)
    (True, True)
    """
    if not is_regressor(estimator):
        raise ValueError(f"weights of regressors can be averaged; got a {type(estimator).__name__}.")
    if not hasattr(estimator, "random_state"):
        raise ValueError(f"each block has a seed of its own, but a {type(estimator).__name__} has no random_state.")
    seed, client = checks.seed(estimator.random_state), client_in_use(client)
    with client.as_current():
        blocks = load(X, y, client)
        n_outputs = refuse_bad_targets(blocks, client)
        if isinstance(estimator, BudgetEstimator):
            refuse_curves(started(clone(estimator), blocks, n_outputs))
        tasks = [
            delayed(_weights, pure=False)(clone(estimator).set_params(random_state=seed + at), rows, targets)
            for at, (rows, targets) in enumerate(zip(blocks.X, blocks.y, strict=True))
        ]
        found = client.gather(client.compute(tasks))
    coef, intercept, cells = zip(*found, strict=True)
    model = LinearRegression()
    model.coef_, model.intercept_ = (np.average(each, axis=0, weights=blocks.sizes) for each in (coef, intercept))
    publish_columns(model, blocks)
    if cells[0] is not None:
        model.cells_ = sum(cells)
    return model


def _weights(estimator, X, y) -> tuple[np.ndarray, np.ndarray, int | None]:
    fitted = estimator.fit(X, y)
    if not hasattr(fitted, "coef_"):
        raise ValueError(f"weights are averaged, but a fitted {type(fitted).__name__} has no coef_.")
    return np.asarray(fitted.coef_), np.asarray(fitted.intercept_), getattr(fitted, "cells_", None)
