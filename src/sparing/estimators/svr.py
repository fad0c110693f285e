"""Support-vector regression from a few attributes of each example."""

from dataclasses import dataclass
from typing import ClassVar

from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression
from sklearn.svm import LinearSVR

from sparing import checks
from sparing.estimators.budget import BudgetRidge
from sparing.estimators.budget_options import documented


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class BudgetSVR(BudgetRidge):
    r"""Linear regression with the tube loss :math:`\max(|w \cdot x - y| - \delta, 0)`, :math:`\|w\|_2 \le B`.

    Large errors enter linearly, not squared, so outliers in the targets do less harm than to :class:`BudgetRidge`. The
    loss is smoothed as in AESVR (Hazan & Koren 2012), and its slope is evaluated at the estimated inner product. The
    paper's unbiased estimate is :class:`sparing.learners.AESVR`; its variance makes it useful only at a small radius.

    Parameters
    ----------
    tube : float
        :math:`\delta`: errors below this are free.
    accuracy : float
        :math:`\epsilon`: how far the smooth loss may lie above the true one (by at most 0.57 times this).
    {options}

    Attributes
    ----------
    {results}

    Examples
    --------
    >>> from sparing import BudgetSVR
    >>> from sparing.datasets import make_power_law
    >>> X, y = make_power_law(5000, n_attributes=30, exponent=-2.0, random_state=0, return_X_y=True)
    >>> BudgetSVR(budget=5, random_state=0).fit(X[:4000], y[:4000]).score(X[4000:], y[4000:]) > 0.5
    True
    """

    tube: float = 0.1
    accuracy: float = 0.5

    _online_reason: ClassVar[str] = "the tube loss is learnt online only"

    def _loss(self):
        return {"tube": checks.positive("tube", self.tube, zero=True), "accuracy": self.accuracy}

    def to_sklearn(self) -> BaseEstimator:
        """A plain fitted scikit-learn model with the same predictions."""
        if self._several:  # LinearSVR has one output
            return self._copy_to(LinearRegression(fit_intercept=self.fit_intercept))
        return self._copy_to(LinearSVR(epsilon=self.tube, fit_intercept=self.fit_intercept))
