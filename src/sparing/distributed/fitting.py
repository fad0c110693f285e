"""Fit an estimator to rows that are on many machines."""

from collections.abc import Callable
from typing import Any

from distributed import Client

from sparing.distributed.blocks import load
from sparing.distributed.budget import fit_budget
from sparing.distributed.clients import client_in_use
from sparing.distributed.logistic import fit_logistic
from sparing.distributed.sketched import fit_ridge
from sparing.estimators import SketchedLogistic, SketchedRidge
from sparing.estimators.budget_base import BudgetEstimator

FITS: dict[type, Callable[..., None]] = {
    BudgetEstimator: fit_budget,
    SketchedRidge: fit_ridge,
    SketchedLogistic: fit_logistic,
}


def fit(estimator, X, y, client: Client | None = None) -> Any:
    """Fit an estimator on the workers of a Dask cluster, as ``estimator.fit`` does on one machine.

    Parameters
    ----------
    estimator : BudgetRidge, BudgetLasso, BudgetClassifier, SketchedRidge or SketchedLogistic
        Budget estimators must learn lines (``features="linear"``, or ``learner="pairwise"`` or ``"factor"``) and have a
        budget for each example; sketched ones need more rows than columns. Options that need all rows in one place are
        refused before anything is bought.
    X : dask array, dask DataFrame or list of Parquet files
        Rows in chunks, each of which must fit into a worker; sketched estimators keep all chunks in the memory of the
        workers. All columns are numbers; for budget estimators NaN is an unavailable value.
    y : dask array or Series, or the name of the target's column in the files
    client : distributed.Client, optional
        The one in use, if it is left out.

    Returns
    -------
    The estimator, fitted: equal to its own ``fit`` on an array of the same rows but for rounding, about 1e-12. With the
    same chunks it is the same to the last bit, whatever the number of workers and whichever of them died on the way.

    Examples
    --------
    >>> from dask import array
    >>> from distributed import Client, LocalCluster
    >>> from sparing import BudgetRidge, distributed
    >>> from sparing.datasets import make_power_law
    >>> X, y = make_power_law(3000, 20, -1.0, random_state=0, return_X_y=True)
    >>> rows, targets = array.from_array(X, chunks=(1000, 20)), array.from_array(y, chunks=1000)
    >>> with LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster, Client(cluster) as client:
    ...     model = distributed.fit(BudgetRidge(4, learner="pairwise", random_state=0), rows, targets)
    >>> alone = BudgetRidge(4, learner="pairwise", random_state=0).fit(X, y)
    >>> bool(abs(model.coef_ - alone.coef_).max() < 1e-10), model.cells_ == alone.cells_
    (True, True)
    """
    if not isinstance(estimator, tuple(FITS)):
        names = "BudgetRidge, BudgetLasso, BudgetClassifier, SketchedRidge and SketchedLogistic"
        raise ValueError(f"a {type(estimator).__name__} cannot be fitted on many machines; {names} can.")
    client = client_in_use(client)
    with client.as_current():
        blocks = load(X, y, client)
        for kind, fit_to in FITS.items():
            if isinstance(estimator, kind):
                fit_to(estimator, blocks, client)
    return estimator
