"""The papers' scaling of real data."""

import numpy as np
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils import check_array


def scale_max_abs(X, *, center=True):
    """Centre each attribute, then divide it by its largest absolute value, as Kukliansky & Shamir 2015 did.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_examples, n_attributes)
        NaN stands for a missing value and stays. float32 stays float32; all else becomes float64.
    center : bool, default=True
        A sparse matrix cannot be centred and stay sparse: pass False.

    Returns
    -------
    scaled : array or CSR matrix
        Entries between -1 and 1; with ``center`` a constant attribute is 0.
    scaler : Pipeline
        Fitted: ``scaler.transform(X_test)`` scales other data the same way, ``inverse_transform`` undoes it.

    Examples
    --------
    >>> scaled, scaler = scale_max_abs([[1.0, 7.0], [2.0, 7.0], [6.0, 7.0]])
    >>> scaled
    array([[-0.66666667, 0. ], [-0.33333333, 0. ], [ 1. , 0. ]])
    >>> scaler.transform([[3.0, 8.0]])
    array([[0., 1.]])
    """
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
    if not center:
        scaler = make_pipeline(MaxAbsScaler())
        return scaler.fit_transform(X), scaler
    if issparse(X):
        raise ValueError("X is sparse and centring would fill it with numbers; pass center=False, or X.toarray().")
    offset = _centerer(X)
    X = offset.transform(X)
    scale = MaxAbsScaler().fit(X)
    return scale.transform(X), Pipeline([("offset", offset), ("scale", scale)])


def _centerer(X: np.ndarray) -> StandardScaler:
    """Means, but exact for a constant attribute, whose rounding error would be scaled up to 1 otherwise."""
    offset = StandardScaler(with_std=False).fit(X)
    least, most = np.fmin.reduce(X), np.fmax.reduce(X)
    offset.mean_ = np.where(least == most, least, offset.mean_)
    return offset
