"""scikit-learn estimators that look at a few attributes of each example."""

from typing import Any, ClassVar
from warnings import warn

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LinearRegression, Ridge
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from sparing import checks, designs
from sparing.estimators.batch import WIDEST, BatchFit
from sparing.estimators.online import OnlineFit
from sparing.estimators.pilot import TEN_LOOKS

LEARNERS = ("auto", "online", "pairwise", "factor")
WIDE = "such wide data"
ONLINE_ONLY = {"radius": "auto", "step_size": "auto", "second_moments": None, "scale": "auto", "pilot": None}


class BudgetEstimator(BaseEstimator):
    """What regressors and the classifier share: options, the loop over chunks, and what a fit leaves behind."""

    _penalty: ClassVar[str] = "ridge"

    def _start(self, n_outputs: int, n_examples: int | None) -> OnlineFit | BatchFit:
        """Check the options and begin, before a single value is read."""
        learner, why = self._which_learner()
        if learner == "online":
            return self._start_online(n_outputs, n_examples, why)
        if self.alpha != "auto":
            checks.positive("alpha", self.alpha)
        return self._start_batch(learner, n_outputs, n_examples)

    def _start_batch(self, learner: str, n_outputs: int, n_examples: int | None) -> BatchFit:
        begun = BatchFit(
            name=learner,
            penalty=self._penalty,
            n_attributes=self.n_features_in_,
            n_outputs=n_outputs,
            budget=self.budget,
            costs=self.costs,
            groups=self.groups,
            total_budget=self.total_budget,
            design=self.design,
            alpha=self.alpha,
            n_examples=self.n_examples if n_examples is None else n_examples,
            seed=checks.seed(self.random_state),
        )
        if begun.blind_spots:
            warn(begun.blind_spots, UserWarning, stacklevel=5)
        return begun

    def _which_learner(self) -> tuple[str, str]:
        """The kind of learner, and why; options that only one kind has are refused for the other."""
        checks.one_of("learner", self.learner, LEARNERS)
        checks.one_of("design", self.design, ("auto", "adaptive", *designs.DESIGNS))
        given = [f"{name}=" for name, usual in ONLINE_ONLY.items() if not _same(getattr(self, name), usual)]
        given += [] if self.fit_intercept else ["fit_intercept=False"]
        given += [f"design={self.design!r}"] if self.design in ("moments", "two-phase") else []
        batch_only = [f"{name}=" for name in ("groups", "total_budget") if getattr(self, name) is not None]
        batch_only += ["design='adaptive'"] if self.design == "adaptive" else []
        if self.learner == "online" or (self.learner == "auto" and (given or self._online_by_default())):
            if batch_only:
                cause = "learner='online'" if self.learner == "online" else (given or [WIDE])[0]
                raise ValueError(f"{batch_only[0]} is for learners that keep what they buy, and {cause} is for those "
                                 "that do not; leave one of them out.")  # fmt: skip
            asked = "it was asked for" if self.learner == "online" else f"{(given or [WIDE])[0]} asks for it"
            return "online", asked
        if given:
            raise ValueError(
                f"{given[0]} is an option of online learners, which learner={self.learner!r} is not; leave it out, or "
                "pass learner='online'."
            )
        return self.learner, ""

    def _online_by_default(self) -> bool:
        return self.n_features_in_ > WIDEST

    def _start_online(self, n_outputs: int, n_examples: int | None, why: str) -> OnlineFit:
        return OnlineFit(
            why=why,
            costs=self.costs,
            penalty=self._penalty,
            n_attributes=self.n_features_in_,
            n_outputs=n_outputs,
            budget=self.budget,
            design=self.design,
            radius=self.radius,
            step_size=self.step_size,
            alpha=self.alpha,
            second_moments=self.second_moments,
            scale=self.scale,
            center=bool(self.fit_intercept),
            n_pilot=self.pilot,
            n_examples=self.n_examples if n_examples is None else n_examples,
            seed=checks.seed(self.random_state),
            **self._loss(),
        )

    def _loss(self) -> dict[str, Any]:
        return {}

    def _check_X(self, X, *, reset: bool, **more):
        return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], **more)

    def _check_X_y(self, X, y, *, reset: bool, **more):
        """Rows to learn from; a memory map stays one, and is not read through to look for NaN."""
        mapped = isinstance(X, np.memmap)
        checked, y = self._check_X(X, y=y, reset=reset, ensure_all_finite=not mapped, **more)
        return (X if mapped and X.dtype == checked.dtype else checked), y

    def _learn(self, X, y, *, reset: bool, n_examples: int | None = None) -> None:
        """Go on with these rows and publish the model."""
        X, several = checks.matrix(X), np.ndim(y) == 2
        y = checks.targets(y, X.shape[0])
        if reset:
            self._fit, self._several = self._start(y.shape[1], n_examples), several
        elif y.shape[1] != self._fit.n_outputs:
            raise ValueError(f"y has {y.shape[1]} outputs; the rows before had {self._fit.n_outputs}.")
        self._fit.learn(X, y)
        if n_examples is not None:
            self._warn_of_few_looks(n_examples)
        self.learner_ = self._fit.learner
        self.n_iter_ = self._fit.n_rounds
        self.cells_ = self._fit.cells
        self.draws_ = self._fit.draws
        self.spent_ = float(self._fit.spent)
        for name in ("radius", "scale", "second_moments"):
            setattr(self, f"{name}_", getattr(self.learner_, name, None))

    def _published(self) -> tuple:
        """Coefficients and intercept, found when they are first asked for: a batch learner solves for them then."""
        if not hasattr(self, "_fit"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet; call fit first.")
        return self._model_shape(*self._fit.model())

    @property
    def coef_(self):
        """The weights, for attributes as they are."""
        return self._published()[0]

    @property
    def intercept_(self):
        """What is predicted where all attributes are zero."""
        return self._published()[1]

    @property
    def report_(self) -> dict[str, Any]:
        """What was chosen, out of what, and why."""
        check_is_fitted(self, "_fit")
        return self._fit.report

    def _warn_of_few_looks(self, n_examples: int) -> None:
        """Say so where a fit had too little to go by."""
        looks = self._fit.cells / self.n_features_in_
        if self._fit.learner is None or not self._fit.learner.n_rounds:
            message = f"the pilot used up all {n_examples} examples, so the model is their mean; pass more examples."
        elif self._fit.design != "moments" and looks < TEN_LOOKS:
            message = (
                f"{n_examples} examples at a budget of {self.budget:g} give each of the {self.n_features_in_} "
                f"attributes about {looks:.2g} looks; expect little from fewer than {TEN_LOOKS}. Pass more examples or "
                "a larger budget."
            )
        else:
            return
        warn(message, ConvergenceWarning, stacklevel=4)

    @property
    def bound_(self):
        """The theorem's bound on the excess risk, or None: see the class."""
        check_is_fitted(self, "coef_")
        try:
            return getattr(self.learner_, "bound", None)
        except ValueError:  # moments that contradict the scale: no theorem speaks of such data
            return None

    def _predict(self, X) -> np.ndarray:
        check_is_fitted(self, "coef_")
        X = self._check_X(X, reset=False)
        return safe_sparse_dot(X, np.atleast_2d(self.coef_).T, dense_output=True) + self.intercept_

    def _copy_to(self, plain):
        """Give a scikit-learn model the attributes that its ``predict`` needs."""
        check_is_fitted(self, "coef_")
        for name in ("coef_", "intercept_", "n_features_in_", "feature_names_in_", "classes_"):
            if hasattr(self, name):
                setattr(plain, name, getattr(self, name))
        return plain

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _same(value, usual) -> bool:
    """Whether an option was left as it is."""
    return value is usual or (isinstance(value, str) and value == usual)


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
        or there are over a million attributes; ``report_`` says what and why.
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
        Online learners: see :class:`sparing.learners.OnlineLearner`; "auto" is "adaptive".
    second_moments : array of shape (n_features,), optional
        Online learners: E[x_i^2] of the attributes as they are; with ``fit_intercept`` about their
        means, which is their variance.
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
