r"""The attribute-efficient learner before the others: gradient steps on the regularised loss, kept in an L1 ball."""

from dataclasses import dataclass, field

from sparing import checks
from sparing.kernels import state as kernel
from sparing.learners.online import OnlineLearner


@dataclass(kw_only=True, eq=False)
class AER(OnlineLearner):
    r"""Attribute-efficient regression of Cesa-Bianchi, Shalev-Shwartz & Shamir (2010).

    Minimises :math:`E[\frac12 (w \cdot x - y)^2] + \frac\lambda2 \|w\|_2^2` over :math:`\|w\|_1 \le B`. Round
    :math:`t = 1, 2, \dots` draws half of its looks uniformly for the point and half by
    :math:`p_j = |w_j| / \|w\|_1` for the inner product, then steps to

    .. math:: w \leftarrow \Pi_{\|w\|_1 \le B} \Big( (1 - \tfrac1t)\, w - \tfrac{1}{\lambda t}\, \tilde g \Big)

    with the Euclidean projection :math:`\Pi`. The model is the average of the weights over all rounds. A round without
    a step, for want of a value, does not count towards t.

    Shrinking is free, but the projection moves every weight: a round that leaves the ball costs O(d), others
    O(b log d).

    Parameters
    ----------
    alpha : float
        :math:`\lambda` of the loss as written above, which also sets the steps: there is no other step size.

    Examples
    --------
    >>> from sparing.datasets import make_power_law
    >>> data = make_power_law(5_000, n_attributes=20, random_state=0)
    >>> learner = AER(20, budget=4, radius=2.0, alpha=0.1).run(data.data, data.target)
    >>> bool(abs(learner.last_coef).sum() <= 2.0 + 1e-12)
    True
    """

    alpha: float
    split: str = "even"
    step_size: str | float = field(default="theory", init=False)
    step_scale: float = field(default=1.0, init=False)

    penalty = "shrunk"

    def _check(self) -> None:
        super()._check()
        self.alpha = checks.positive("alpha", self.alpha)

    def _step(self, **changes) -> tuple[int, float]:
        return kernel.FIXED, 1.0 / self.alpha

    def _has_bound(self) -> bool:
        return False
