"""Simulated data whose geometry is known exactly."""

import math
from numbers import Real
from typing import Any

import numpy as np

from sparing import checks
from sparing.datasets.fields import dataset, float_type

DESCR = """{n_attributes} independent 0/1 attributes for {penalty}: attribute i is 1 with probability u_i, u_i
proportional to i**{exponent:g} and of {norm} norm 1, so E[x_i] = E[x_i^2] = u_i. The target is X @ coef,
without noise (Kukliansky & Shamir 2015, section 5.1)."""


def make_power_law(
    n_samples,
    n_attributes=500,
    exponent=-1.0,
    penalty="ridge",
    random_state=None,
    *,
    dtype=np.float64,
    return_X_y=False,
) -> Any:
    r"""Sparse 0/1 attributes whose means follow a power law: the steeper, the more a learner gains from second moments.

    Attribute i is 1 with probability :math:`u_i \propto i^{exponent}`, independently; the target is
    :math:`y = \langle w^*, x \rangle` (Kukliansky & Shamir 2015, section 5.1).

    Parameters
    ----------
    n_samples : int
        With the same seed, fewer examples are the first of more.
    n_attributes : int, default=500
    exponent : float, default=-1.0
        0 gives all attributes the same distribution.
    penalty : {"ridge", "lasso"}, default="ridge"
        "ridge": u has L2 norm 1, and weights are -1 or +1 with equal probability. "lasso": u has largest entry 1, and
        weights are -1, 0, +1 with probabilities 0.15, 0.7, 0.15.
    random_state : int, RandomState or None, default=None
    dtype : float32 or float64, default=float64
        Of ``data`` and ``target``.
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.

    Returns
    -------
    Bunch
        With ``coef``, the weights :math:`w^*`, and ``second_moments``, which are u, as the means are.

    Notes
    -----
    Examples are not scaled: for ridge :math:`\|x\|` is usually above 1, unlike in the theory.

    Examples
    --------
    >>> made = make_power_law(1000, 4, penalty="lasso", random_state=0)
    >>> made.second_moments
    array([1. , 0.5 , 0.33333333, 0.25 ])
    >>> bool((made.data @ made.coef == made.target).all())
    True
    """
    n_samples, n_attributes = checks.whole("n_samples", n_samples), checks.whole("n_attributes", n_attributes)
    if not isinstance(exponent, Real) or not math.isfinite(exponent):
        raise ValueError(f"exponent must be a finite number; got {exponent!r}.")
    penalty, dtype = checks.one_of("penalty", penalty, ("ridge", "lasso")), float_type(dtype)
    rng = np.random.default_rng(checks.seed(random_state))

    means = _power_law(n_attributes, float(exponent), penalty)
    chances = [0.5, 0.0, 0.5] if penalty == "ridge" else [0.15, 0.7, 0.15]
    coef = rng.choice([-1.0, 0.0, 1.0], size=n_attributes, p=chances)
    data = (rng.random((n_samples, n_attributes)) < means).astype(dtype)
    return dataset(
        data=data,
        target=data @ coef.astype(dtype),
        feature_names=[f"x{i}" for i in range(1, n_attributes + 1)],
        DESCR=DESCR.format(
            n_attributes=n_attributes,
            penalty=penalty,
            exponent=exponent,
            norm="L2" if penalty == "ridge" else "maximum",
        ),
        coef=coef,
        second_moments=means,
        return_X_y=return_X_y,
    )


def _power_law(n_attributes: int, exponent: float, penalty: str) -> np.ndarray:
    """i^exponent, scaled to largest entry 1 (relative to that entry, so that nothing overflows) or to L2 norm 1."""
    first = n_attributes if exponent > 0 else 1
    law = (np.arange(1, n_attributes + 1) / first) ** exponent
    return law / np.linalg.norm(law) if penalty == "ridge" else law
