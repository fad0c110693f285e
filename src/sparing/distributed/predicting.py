"""Predictions for rows that are on many machines."""

from warnings import catch_warnings, simplefilter

import numpy as np
from dask import array, delayed

from sparing import checks
from sparing.distributed.blocks import as_array, paths_in, read_columns


def predict(estimator, X, *, method: str = "predict") -> array.Array:
    """Predictions of a fitted estimator as a Dask array, which is computed lazily on the machines of the rows.

    Parameters
    ----------
    estimator : fitted estimator
        Of this package, or any that predicts from rows of an array.
    X : dask array, dask DataFrame or list of Parquet files
        From files, the columns are read that the estimator was fitted to.
    method : {"predict", "predict_proba", "decision_function"}

    Returns
    -------
    dask array
        One entry or row for each row of X. That of files has chunks of unknown length.

    Examples
    --------
    >>> from dask import array
    >>> from sklearn.datasets import load_diabetes
    >>> from sparing import BudgetRidge, distributed
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BudgetRidge(4, features="linear", random_state=0).fit(X, y)
    >>> there = distributed.predict(model, array.from_array(X, chunks=(100, 10)))
    >>> there.chunks, bool((there.compute() == model.predict(X)).all())
    (((100, 100, 100, 100, 42),), True)
    """
    checks.one_of("method", method, ("predict", "predict_proba", "decision_function"))
    if (paths := paths_in(X)) is not None:
        if not hasattr(estimator, "feature_names_in_"):
            raise ValueError("the estimator was fitted to columns without names; pass a Dask array.")
        names = list(estimator.feature_names_in_)
        blocks, sizes = [delayed(read_columns)(path, names) for path in paths], [np.nan] * len(paths)
    else:
        if hasattr(X, "columns") and hasattr(estimator, "feature_names_in_"):
            X = X[list(estimator.feature_names_in_)]
        X = as_array(X).rechunk({1: -1})
        blocks, sizes = X.to_delayed().ravel(), X.chunks[0]
    nothing = _predicted(estimator, np.zeros((1, estimator.n_features_in_)), method)
    model, more = delayed(estimator), nothing.shape[1:]
    made = [
        array.from_delayed(delayed(_predicted)(model, block, method), (size, *more), nothing.dtype)
        for block, size in zip(blocks, sizes, strict=True)
    ]
    return array.concatenate(made, allow_unknown_chunksizes=True)


def _predicted(estimator, X: np.ndarray, method: str) -> np.ndarray:
    if not X.shape[0]:  # which estimators refuse
        return _predicted(estimator, np.zeros((1, X.shape[1])), method)[:0]
    with catch_warnings():
        simplefilter("ignore", UserWarning)  # columns are in the order of their names, which arrays do not have
        return getattr(estimator, method)(X)
