"""Support-vector regression from a few attributes of each example."""

from sklearn.linear_model import LinearRegression
from sklearn.svm import LinearSVR

from sparing import checks
from sparing.estimators.budget import BudgetRidge


class BudgetSVR(BudgetRidge):
    r"""Linear regression with the tube loss :math:`\max(|w \cdot x - y| - \delta, 0)`, :math:`\|w\|_2 \le B`.

    Large errors count by their size, not its square, so outliers in the targets do less harm than to
    :class:`BudgetRidge`. The loss is smoothed as in AESVR (Hazan & Koren 2012), and its slope taken at the estimated
    inner product; the paper's unbiased estimate is :class:`sparing.learners.AESVR`, which its variance leaves useful
    only at small radius. Other parameters and attributes are those of :class:`BudgetRidge`.

    Parameters
    ----------
    tube : float
        :math:`\delta`: errors below this are free.
    accuracy : float
        :math:`\epsilon`: how far the smooth loss may lie above the true one (by at most 0.57 times this).

    Examples
    --------
    >>> from sparing import BudgetSVR
    >>> from sparing.datasets import make_power_law
    >>> X, y = make_power_law(5000, n_attributes=30, exponent=-2.0, random_state=0, return_X_y=True)
    >>> BudgetSVR(budget=5, random_state=0).fit(X[:4000], y[:4000]).score(X[4000:], y[4000:]) > 0.5
    True
    """

    def __init__(
        self,
        budget,
        *,
        tube=0.1,
        accuracy=0.5,
        learner="auto",
        design="auto",
        costs=None,
        radius="auto",
        step_size="auto",
        second_moments=None,
        fit_intercept=True,
        alpha="auto",
        n_jobs=None,
        random_state=None,
        scale="auto",
        pilot=None,
        n_examples=None,
        groups=None,
        total_budget=None,
    ):
        super().__init__(
            budget,
            learner=learner,
            design=design,
            costs=costs,
            radius=radius,
            step_size=step_size,
            second_moments=second_moments,
            fit_intercept=fit_intercept,
            alpha=alpha,
            n_jobs=n_jobs,
            random_state=random_state,
            scale=scale,
            pilot=pilot,
            n_examples=n_examples,
            groups=groups,
            total_budget=total_budget,
        )
        self.tube = tube
        self.accuracy = accuracy

    def _online_by_default(self) -> bool:
        return True  # the batch learners minimise squared error

    def _loss(self):
        return {"tube": checks.positive("tube", self.tube, zero=True), "accuracy": self.accuracy}

    def to_sklearn(self):
        """A plain fitted scikit-learn model with the same predictions."""
        if self._several:  # LinearSVR has one output
            return self._copy_to(LinearRegression(fit_intercept=self.fit_intercept))
        return self._copy_to(LinearSVR(epsilon=self.tube, fit_intercept=self.fit_intercept))
