"""The data on which no ridge regression can do better than its effective dimension allows."""

import numpy as np
from scipy import sparse

from sparing import checks
from sparing.datasets.fields import dataset

DESCR = """{d} attributes, of which each example has one, i drawn alike, at sqrt(d l_i), so that E[x x^T] is diagonal
with the eigenvalues l. The target is +1 or -1, and leans by sqrt(d / (6 n)) towards a random sign of attribute i: as
little as {n} examples can just not tell (Agarwal & Gonen, Theorem 6)."""


def make_lower_bound(n_samples, spectrum, random_state=None, *, return_X_y=False):
    r"""Data of a given spectrum on which the excess risk is at least :func:`sparing.theory.lower_risk_bound`.

    :math:`x = \sqrt{d \lambda_i} e_i` for i drawn alike, and :math:`y = \pm 1` with
    :math:`P(y = 1 \mid i) = \tfrac12 (1 + \sigma_i b)`, :math:`b = \sqrt{d/(6n)}`, :math:`\sigma` random signs
    (Agarwal & Gonen, appendix C).

    Parameters
    ----------
    n_samples : int
        n, at least 2d/3. The distribution depends on it: more examples come with a fainter signal.
    spectrum : array of shape (d,)
        The eigenvalues :math:`\lambda_i` of :math:`E[x x^T]`, all above zero.
    random_state : int, RandomState or None
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.

    Returns
    -------
    Bunch
        ``data`` is CSR; ``coef`` are the best weights without a constraint, ``second_moments`` the spectrum.

    Examples
    --------
    >>> made = make_lower_bound(6, [0.5, 0.5], random_state=0)
    >>> made.data.toarray().sum(axis=1), abs(made.coef).round(3)
    (array([1., 1., 1., 1., 1., 1.]), array([0.236, 0.236]))
    """
    n, values = checks.whole("n_samples", n_samples), checks.second_moments(spectrum)
    d = len(values)
    if not values.all() or n < 2 * d / 3:
        raise ValueError(f"need eigenvalues above zero and n >= 2d/3; got {n} samples for {d}, least {values.min()}.")
    rng = np.random.default_rng(checks.seed(random_state))
    lean = np.sqrt(d / (6 * n)) * rng.choice([-1.0, 1.0], size=d)
    size = np.sqrt(d * values)
    attribute = rng.integers(d, size=n)
    return dataset(
        data=sparse.csr_array((size[attribute], attribute, np.arange(n + 1)), shape=(n, d)),
        target=np.where(rng.random(n) < (1 + lean[attribute]) / 2, 1.0, -1.0),
        feature_names=[f"x{i}" for i in range(1, d + 1)],
        DESCR=DESCR.format(d=d, n=n),
        coef=lean / size,
        second_moments=values,
        return_X_y=return_X_y,
    )
