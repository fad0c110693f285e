"""Data that attain lower bounds: by the effective dimension, and for learners that see few attributes."""

from typing import Any

import numpy as np
from scipy import sparse

from sparing import checks
from sparing.datasets.fields import dataset

DESCR = """{d} attributes. Each example has one that is not zero, i drawn uniformly, with value sqrt(d l_i), so that E[x
x^T] is diagonal with the eigenvalues l. The target is +1 or -1, with a bias of sqrt(d / (6 n)) towards a random sign of
attribute i: just too small to be found from {n} examples (Agarwal & Gonen, Theorem 6)."""


def make_lower_bound(n_samples, spectrum, random_state=None, *, return_X_y=False) -> Any:
    r"""Data of a given spectrum on which the excess risk is at least :func:`sparing.theory.lower_risk_bound`.

    :math:`x = \sqrt{d \lambda_i} e_i` for i drawn uniformly, and :math:`y = \pm 1` with
    :math:`P(y = 1 \mid i) = \tfrac12 (1 + \sigma_i b)`, :math:`b = \sqrt{d/(6n)}`, :math:`\sigma` random signs
    (Agarwal & Gonen, appendix C).

    Parameters
    ----------
    n_samples : int
        n, at least 2d/3. The distribution depends on it: the more examples, the weaker the signal.
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


FEW = """{d} attributes, {k} of which matter. Each example has one of these that is not zero, i drawn uniformly, with a
value +1 or -1 that is the same in all examples; the target is always 1. To learn the signs, a learner must find the {k}
among the {d}; looks at other attributes are useless (Hazan & Koren 2012, appendix B)."""


def make_hidden_signs(n_samples, n_attributes, excess, random_state=None, *, return_X_y=False) -> Any:
    r"""The data of Hazan & Koren's lower bound for learners of few attributes (2012, appendix B.2).

    :math:`k = \mathrm{round}(1/\epsilon^2)` of d attributes, T, have a hidden sign :math:`r_i`. An example is
    :math:`x = r_i e_i` for i drawn uniformly from T, and :math:`y = 1`. The best weights in the unit ball are
    :math:`w^* = \sum_{i \in T} r_i e_i / \sqrt k`, with :math:`E (w^* \cdot x - y)^2 =
    (1 - 1/\sqrt k)^2` (Lemma B.4). To come within a constant times :math:`\epsilon` of that, a learner must find most
    of T and look :math:`\Omega(d/\epsilon^2)` times: :func:`sparing.theory.examples_lower_order`.

    Parameters
    ----------
    n_samples, n_attributes : int
    excess : float
        :math:`\epsilon`, from :math:`1/\sqrt d` to 1.
    random_state : int, RandomState or None
        With the same seed, fewer examples are the first of more.
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.

    Returns
    -------
    Bunch
        ``data`` is CSR; ``coef`` are the weights :math:`w^*`, ``second_moments`` 1/k in T and 0 elsewhere.

    Examples
    --------
    >>> made = make_hidden_signs(3, 8, 0.5, random_state=0)
    >>> abs(made.data.toarray()).sum(axis=1), (made.data @ made.coef).tolist()
    (array([1., 1., 1.]), [0.5, 0.5, 0.5])
    """
    n, d = checks.whole("n_samples", n_samples), checks.whole("n_attributes", n_attributes)
    k = round(1 / checks.positive("excess", excess) ** 2)
    if not 1 <= k <= d:
        raise ValueError(f"excess must lie between 1/sqrt(d) = {d**-0.5:.3g} and 1; got {excess!r} for d = {d}.")
    rng = np.random.default_rng(checks.seed(random_state))
    signs = np.zeros(d)
    hidden = rng.choice(d, size=k, replace=False)
    signs[hidden] = rng.choice([-1.0, 1.0], size=k)
    attribute = hidden[rng.integers(k, size=n)]
    return dataset(
        data=sparse.csr_array((signs[attribute], attribute, np.arange(n + 1)), shape=(n, d)),
        target=np.ones(n),
        feature_names=[f"x{i}" for i in range(1, d + 1)],
        DESCR=FEW.format(d=d, k=k),
        coef=signs / np.sqrt(k),
        second_moments=np.abs(signs) / k,
        return_X_y=return_X_y,
    )
