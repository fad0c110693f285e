"""Regression from a few attributes of each example, or from what a sum of money buys of it."""

from sklearn.base import RegressorMixin
from sklearn.linear_model import Lasso, LinearRegression, Ridge

from sparing.estimators.budget_base import BudgetEstimator


class BudgetRidge(RegressorMixin, BudgetEstimator):
    r"""Linear regression on the ball :math:`\|w\|_2 \le B` from ``budget`` attributes of each example.

    Parameters
    ----------
    budget : int or float
        Attributes to look at of each example, from 2 to all; with ``costs``, money for each example, never exceeded
        (by online learners in expectation only).
    learner : {"auto", "pairwise", "factor", "online"}
        "pairwise" and "factor" keep what they buy and learn from all of it (:class:`sparing.learners.PairwiseMoments`,
        :class:`sparing.learners.FactorModel`); online learners use each example once and forget it. "auto" keeps, and
        takes what predicts best by the cells bought, the papers' online learners where an option below asks for them
        or there are over 1,000,000 attributes (lasso: 20,000); ``report_`` says what and why.
    design : {"auto", "adaptive", "uniform", "moments", "two-phase"}
        Where to look. Learners that keep: "adaptive" (by spread, price, weights and looks so far; the default) or
        anywhere alike. Online learners: anywhere alike; as ``second_moments`` say; as moments say that a pilot
        estimates, which is their default.
    costs : array of shape (n_features,), optional
        Price of each attribute.
    radius : float or "auto"
        Online learners: B, for attributes divided by ``scale``. "auto" goes by ``alpha`` if that
        is given, else by the spread of targets and attributes in the pilot.
    step_size : {"auto", "adaptive", "theory", "adagrad"} or float
        Online learners: see :class:`sparing.learners.online.OnlineLearner`; "auto" is "adaptive".
    second_moments : array of shape (n_features,), optional
        E[x_i^2] of the attributes as they are, for looks to follow from the first example on; with ``fit_intercept``
        about their means, which is their variance.
    fit_intercept : bool
        Learn about means, with means of the values bought; without it an online learner learns.
    alpha : float or "auto"
        Strength of a penalty alpha/2 ||w||_2^2 (lasso: alpha ||w||_1) on the attributes as they are; with it the
        pairwise learner is taken. Online learners turn it into the radius that such a penalty on attributes divided by
        ``scale`` implies, where ``radius`` is "auto".
    n_jobs : None
        Kept for scikit-learn's conventions: learners that keep use all cores, an online learner is one sequence of
        steps.
    random_state : int, RandomState or None
        The seed of all looks.
    scale : "auto", None or array of shape (n_features,)
        Online learners: what attributes are divided by: the largest distance from the mean that the pilot
        saw, nothing, or these.
    pilot : int, optional
        Online learners: examples of the pilot, where one is needed; a tenth of all unless given.
    n_examples : int, optional
        How many examples ``partial_fit`` will see in all, where that is known. With it, ``partial_fit`` over all of
        them gives what ``fit`` gives.
    groups : sequence of length n_features, optional
        Attributes with equal labels are a panel: bought together for what they cost together. None or "" is none.
    total_budget : float, optional
        Money (or attributes) for all examples; when it is spent, no further value is read.

    Attributes
    ----------
    coef_, intercept_ : array, float
        The model, for attributes as they are.
    n_iter_ : int
        Examples looked at.
    cells_, draws_, spent_ : int, int, float
        Distinct values read; draws made, by online learners some of the same value; what the values cost, at one a
        value where there are no ``costs``.
    report_ : dict
        What was chosen (``setting``), out of what (``candidates``, with estimated risks), and why (``why``).
    second_moments_ : array or None
        The moments that the looks follow, of scaled and centred attributes.
    scale_, radius_ : array or None, float
        What attributes were divided by, and B.
    bound_ : float or None
        The theorem's bound on the excess risk, if the scaled attributes lie within [-1, 1]. There is one with
        ``step_size="theory"``, ``fit_intercept=False``, one output and design "uniform" or "moments".
    learner_ : BatchLearner, OnlineLearner or None
        The learner itself; ``learner_.bought`` of one that keeps are the cells. None, and so are ``scale_`` and
        ``radius_``, as long as the pilot of an online learner lasts. Until then the model is the mean target.

    Notes
    -----
    A constant target gives zero weights, up to rounding, and that constant as intercept. An attribute that the pilot
    never saw, or saw only at one value, is taken for an ordinary one and looked at later. In a memory map, which is not
    read through, NaN is a value that could not be had; anywhere else NaN and infinity are refused.

    Examples
    --------
    >>> from sparing import BudgetRidge
    >>> from sparing.datasets import make_power_law
    >>> X, y = make_power_law(5000, n_attributes=30, exponent=-2.0, random_state=0, return_X_y=True)
    >>> model = BudgetRidge(budget=5, random_state=0).fit(X[:4000], y[:4000])
    >>> model.cells_ <= 5 * 4000
    True
    >>> model.score(X[4000:], y[4000:]) > 0.6
    True
    """

    def __init__(
        self,
        budget,
        *,
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
        self.budget = budget
        self.learner = learner
        self.design = design
        self.costs = costs
        self.radius = radius
        self.step_size = step_size
        self.second_moments = second_moments
        self.fit_intercept = fit_intercept
        self.alpha = alpha
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.scale = scale
        self.pilot = pilot
        self.n_examples = n_examples
        self.groups = groups
        self.total_budget = total_budget

    def fit(self, X, y):
        """Learn from all rows of X, looking at ``budget`` attributes of each."""
        X, y = self._check_X_y(X, y, reset=True, multi_output=True, y_numeric=True)
        self._learn(X, y, reset=True, n_examples=X.shape[0])
        return self

    def partial_fit(self, X, y):
        """Learn from more rows. The result does not depend on how rows are cut into chunks."""
        reset = not hasattr(self, "_fit")
        X, y = self._check_X_y(X, y, reset=reset, multi_output=True, y_numeric=True)
        self._learn(X, y, reset=reset)
        return self

    def _model_shape(self, coef, intercept):
        return (coef, intercept) if self._several else (coef[0], float(intercept[0]))

    def predict(self, X):
        """Predictions for whole rows."""
        predictions = self._predict(X)
        return predictions if self._several else predictions[:, 0]

    def to_sklearn(self):
        """A plain fitted scikit-learn model with the same predictions."""
        return self._copy_to(Ridge(fit_intercept=self.fit_intercept))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = False
        tags.regressor_tags.poor_score = True  # on 200 examples at two looks each
        return tags


class BudgetLasso(BudgetRidge):
    r"""Linear regression on the ball :math:`\|w\|_1 \le B` from ``budget`` attributes of each example.

    For models in which few attributes matter. Parameters and attributes are those of :class:`BudgetRidge`.

    Examples
    --------
    >>> from sparing import BudgetLasso
    >>> from sparing.datasets import make_power_law
    >>> X, y = make_power_law(5000, 30, -1.0, penalty="lasso", random_state=0, return_X_y=True)
    >>> BudgetLasso(budget=5, random_state=0).fit(X[:4000], y[:4000]).score(X[4000:], y[4000:]) > 0.5
    True
    """

    _penalty = "lasso"

    def to_sklearn(self):
        """A plain fitted scikit-learn model with the same predictions."""
        plain = LinearRegression if self._several else Lasso  # Lasso cannot predict several outputs of sparse rows
        return self._copy_to(plain(fit_intercept=self.fit_intercept))
