"""The regret of the AdaGrad family, bounded by what a run has seen (Mehta et al. 2016, Theorems 1 to 3)."""

from sparing import checks


def regret_bound(
    step_size: float,
    *,
    trace: float = 0.0,
    sizes: float = 0.0,
    inside: float = 0.0,
    outside: float = 0.0,
    start: float = 0.0,
    delta: float = 0.0,
    delta_c: float | None = None,
    tau: float = 1.0,
) -> float:
    r"""A bound on how much more a run has lost than a fixed comparator :math:`x^*`.

    .. math:: \frac{1}{2\eta} \left( R^2 (T + \sqrt{\delta_r}) + \tau (r^2 Z + \delta_c s^2) \right)
              + \eta \left( T + \frac{Z}{\tau} \right)

    Theorem 3 for CompAdaGrad has both parts. With the first alone it is Theorem 2 (full matrix), with the second alone
    Theorem 1 (diagonal). The theorems are stated for :math:`\tau = 1`; other values divide the steps of the complement
    by :math:`\tau`. With :math:`\delta_r` *inside* the root, as here, the proof goes through with
    :math:`\sqrt{\delta_r} R^2`: all but the first eigenvalue of :math:`(M_1 + \delta_r I)^{1/2}` are
    :math:`\sqrt{\delta_r}`, and :math:`\mathrm{tr}(M_T + \delta_r I)^{1/2} \le \mathrm{tr}\, M_T^{1/2} +
    k \sqrt{\delta_r}`. A penalty counts as part of the loss if it is zero at the start. For the scaled sketch pass
    the step size, delta and tau of the unscaled method that makes the same steps.

    Parameters
    ----------
    step_size : float
        :math:`\eta`.
    trace : float
        :math:`T = \mathrm{tr}(\Pi G_T \Pi^T)^{1/2}`, of the gradients inside the sketch.
    sizes : float
        :math:`Z = \sum_j (\sum_t [P^\perp g_t]_j^2)^{1/2}`, of the gradients outside.
    inside, outside : float
        :math:`R = \max_t \|P(x^* - x_t)\|_2` and :math:`r = \max_t \|P^\perp(x^* - x_t)\|_\infty`.
    start : float
        :math:`s = \|P^\perp(x^* - x_1)\|_2`.
    delta, delta_c, tau : float
        :math:`\delta_r`, :math:`\delta_c` (the same unless given) and :math:`\tau` of
        :func:`sparing.optim.comp_adagrad`.

    Examples
    --------
    >>> regret_bound(1.0, sizes=10.0, outside=2.0)
    30.0
    """
    checks.positive("step_size", step_size)
    delta_c = delta if delta_c is None else checks.positive("delta_c", delta_c, zero=True)
    held = inside**2 * (trace + delta**0.5) + tau * (outside**2 * sizes + delta_c * start**2)
    return float(held / (2 * step_size) + step_size * (trace + sizes / tau))
