"""What the budget estimators share: their options, written down once, and the way from options to a fitted model."""

from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, ClassVar
from warnings import warn

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from sparing import checks, designs
from sparing.estimators.online_fit import PILOT_LOOKS, OnlineFit
from sparing.learners import AutoLearner, FactorModel, PairwiseMoments
from sparing.learners.keepers import WIDEST_LASSO
from sparing.learners.keeping import KeepingLearner

LEARNERS = ("auto", "online", "pairwise", "factor")
WIDEST = {"ridge": 1_000_000, "lasso": WIDEST_LASSO}  # attributes; above as many "auto" is an online learner
USUAL_BUDGET = 5  # attributes per example, or all if there are fewer
ONLINE_ONLY = ("radius", "step_size", "scale", "pilot", "fit_intercept")
KEEPING_ONLY = ("groups", "total_budget")

OPTIONS = """budget : int, float or "auto"
        Attributes to look at per example, from 2 to all; with ``costs``, money per example, never exceeded (by online
        learners in expectation only). "auto" is five attributes, or all if there are fewer.
    learner : {"auto", "pairwise", "factor", "online"}
        "auto", "pairwise" and "factor" keep what they buy and learn from all of it
        (:class:`sparing.learners.AutoLearner`, :class:`sparing.learners.PairwiseMoments`,
        :class:`sparing.learners.FactorModel`). "online" takes the papers' learners, which use each example once and
        forget it; so does "auto" above 1,000,000 attributes (lasso: 20,000). ``report_`` says what was chosen and why.
    design : {"auto", "adaptive", "uniform", "moments", "two-phase"}
        Where to look. Learners that keep: "adaptive" (by spread, price, weights and looks so far; the default) or
        "uniform". Online learners: "uniform" is AERR or AELR; "moments", by ``second_moments``, is DDAERR or DDAELR;
        "two-phase", by moments that a pilot estimates, is TwoPhasedDDAERR or TwoPhasedDDAELR, and their default.
    costs : array of shape (n_features,), optional
        Price of each attribute.
    groups : sequence of length n_features, optional
        Attributes with equal labels are a panel: bought together for what they cost together. None or "" is none.
    total_budget : float, optional
        Money (or attributes) for all examples; when it is spent, no further value is read.
    second_moments : array of shape (n_features,), optional
        E[x_i^2] of the attributes as they are, for looks to follow from the first example on; with ``fit_intercept``
        about their means, which is their variance.
    alpha : float or "auto"
        Strength of a penalty alpha/2 ||w||_2^2 (lasso: alpha ||w||_1) on the attributes as they are; with it "auto" is
        the pairwise learner. Online learners turn it into the radius that such a penalty on attributes divided by
        ``scale`` implies, where ``radius`` is "auto".
    n_examples : int, optional
        How many examples ``partial_fit`` will see in all, where that is known. With it, ``partial_fit`` over all of
        them gives what ``fit`` gives.
    random_state : int, RandomState or None
        The seed of all looks.
    n_jobs : None
        Kept for scikit-learn's conventions: learners that keep use all cores, an online learner is one sequence of
        steps.
    radius : float or "auto"
        Online learners only: the norm that weights may have, for attributes divided by ``scale``. "auto" goes by
        ``alpha`` if that is given, else by the spread of targets and attributes in the pilot.
    step_size : {"auto", "adaptive", "theory", "adagrad"} or float
        Online learners only: see :class:`sparing.learners.online.OnlineLearner`; "auto" is "adaptive".
    scale : "auto", None or array of shape (n_features,)
        Online learners only: what attributes are divided by: the largest distance from the mean in the pilot, nothing,
        or these.
    pilot : int, optional
        Online learners only: examples of the pilot, where one is needed; a tenth of all unless given.
    fit_intercept : bool
        Learn about means. Only an online learner can do without."""

RESULTS = """coef_, intercept_ : array, float
        The model, for attributes as they are.
    n_iter_ : int
        Examples looked at.
    cells_, draws_, spent_ : int, int, float
        Distinct values read; draws made, by online learners some of the same value; what the values cost, at one each
        where there are no ``costs``.
    report_ : dict
        What was chosen (``setting``), out of what (``candidates``, with estimated risks), and why (``why``).
    second_moments_ : array or None
        The moments that the looks follow, of scaled and centred attributes.
    scale_, radius_ : array or None, float or None
        What attributes were divided by, and the radius, of an online learner.
    bound_ : float or None
        The theorem's bound on the excess risk, if the scaled attributes lie within [-1, 1]. There is one with
        ``step_size="theory"``, ``fit_intercept=False``, one output and design "uniform" or "moments".
    learner_ : KeepingLearner, OnlineLearner or None
        The learner itself; ``learner_.bought`` of one that keeps are the cells. None, and so are ``scale_`` and
        ``radius_``, as long as the pilot of an online learner lasts. Until then the model is the mean target."""


def documented(cls):
    """Fill the shared parameters and attributes into a class's docstring, where they are marked."""
    cls.__doc__ = cls.__doc__.replace("{options}", OPTIONS).replace("{results}", RESULTS)
    return cls


@dataclass(eq=False, repr=False)
class BudgetEstimator(BaseEstimator):
    """What regressors and the classifier share: options, the loop over chunks, and what a fit leaves behind."""

    budget: Any = "auto"
    _: KW_ONLY
    learner: str = "auto"
    design: str = "auto"
    costs: Any = None
    groups: Any = None
    total_budget: float | None = None
    second_moments: Any = None
    alpha: Any = "auto"
    n_examples: int | None = None
    random_state: Any = None
    n_jobs: None = None
    radius: Any = "auto"
    step_size: Any = "auto"
    scale: Any = "auto"
    pilot: int | None = None
    fit_intercept: bool = True

    _penalty: ClassVar[str] = "ridge"
    _online_reason: ClassVar[str] = ""  # why only an online learner will do

    # From options to a learner ---------------------------------------------------------------------------------------

    def _start(self, n_outputs: int, n_examples: int | None) -> OnlineFit | KeepingLearner:
        """Check the options and begin, before a single value is read."""
        why = self._why_online()
        budget = self._budget()
        n_examples = self.n_examples if n_examples is None else n_examples
        if why:
            return self._start_online(budget, n_outputs, n_examples, why)
        options = {
            "budget": budget,
            "n_examples": n_examples,
            "n_outputs": n_outputs,
            "random_state": checks.seed(self.random_state),
            "design": "adaptive" if self.design == "auto" else self.design,
        } | {name: getattr(self, name) for name in ("costs", "groups", "total_budget", "second_moments")}
        learner = self._keeping(options)
        if learner.blind_spots:
            warn(learner.blind_spots, UserWarning, stacklevel=4)
        return learner

    def _keeping(self, options: dict[str, Any]) -> KeepingLearner:
        d, penalty = self.n_features_in_, self._penalty
        if self.learner == "factor":
            return FactorModel(d, **options)
        if self.learner == "auto" and isinstance(self.alpha, str) and self.alpha == "auto":
            return AutoLearner(d, penalty=penalty, **options)
        strength = "ridge" if penalty == "ridge" else "alpha"
        if not isinstance(self.alpha, str):
            checks.positive("alpha", self.alpha)
        return PairwiseMoments(d, penalty=penalty, **{strength: self.alpha}, **options)

    def _budget(self):
        if not isinstance(self.budget, str):
            return self.budget
        checks.one_of("budget", self.budget, ("auto",))
        if self.costs is not None:
            raise ValueError("with costs= the budget is money per example; pass budget=.")
        return min(USUAL_BUDGET, self.n_features_in_)

    def _why_online(self) -> str:
        """Why an online learner is taken, or ""; options that only the other kind has are refused."""
        checks.one_of("learner", self.learner, LEARNERS)
        checks.one_of("design", self.design, ("auto", "adaptive", *designs.DESIGNS))
        why = "it was asked for" if self.learner == "online" else ""
        if self.learner == "auto":
            wide = self.n_features_in_ > WIDEST[self._penalty]
            why = self._online_reason or ("such wide data ask for it" if wide else "")
        names, unusual = KEEPING_ONLY if why else ONLINE_ONLY, {"adaptive"} if why else {"moments", "two-phase"}
        given = [f"{name}=" for name in names if not self._is_default(name)]
        given += [f"design={self.design!r}"] if self.design in unusual else []
        if not given and not (self._online_reason and not why):
            return why
        if why:
            raise ValueError(f"{given[0]} is for learners that keep what they buy; an online learner, taken because "
                             f"{why}, has no such option. Leave it out.")  # fmt: skip
        raise ValueError(
            f"{self._online_reason or given[0] + ' is an option of online learners'}; pass learner='online'"
            f"{', or leave it out' if given else ''}. learner={self.learner!r} keeps what it buys."
        )

    def _is_default(self, name: str) -> bool:
        value, default = getattr(self, name), {option.name: option.default for option in fields(self)}[name]
        return value is default or (isinstance(value, str | bool | np.bool_) and value == default)

    def _start_online(self, budget, n_outputs: int, n_examples: int | None, why: str) -> OnlineFit:
        names = ("costs", "design", "radius", "step_size", "alpha", "second_moments", "scale", "pilot")
        return OnlineFit(
            budget=budget,
            why=why,
            penalty=self._penalty,
            n_attributes=self.n_features_in_,
            n_outputs=n_outputs,
            center=bool(self.fit_intercept),
            n_examples=n_examples,
            seed=checks.seed(self.random_state),
            **{name: getattr(self, name) for name in names},
            **self._loss(),
        )

    def _loss(self) -> dict[str, Any]:
        return {}

    # From rows to a model --------------------------------------------------------------------------------------------

    def _check_X(self, X, *, reset: bool, **more):
        try:
            return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], **more)
        except ValueError as error:
            words = [name for name, kind in getattr(X, "dtypes", {}).items() if kind.kind not in "biuf"]
            if "could not convert" not in str(error) or not words:
                raise
            raise ValueError(
                f"column {words[0]!r} is not numeric: {error}; leave it out, or turn it into indicators first."
            ) from error

    def _check_X_y(self, X, y, *, reset: bool, **more):
        """Rows to learn from, checked for NaN and infinity once; a memory map stays one, and is not read through."""
        mapped = isinstance(X, np.memmap)
        checked, y = self._check_X(X, y=y, reset=reset, ensure_all_finite=False, **more)
        return (X if mapped and X.dtype == checked.dtype else checks.matrix(checked)), y

    def _learn(self, X, y, *, reset: bool, n_examples: int | None = None) -> None:
        """Go on with these rows; with ``n_examples`` they are all, and the model is solved for."""
        several = np.ndim(y) == 2
        y = checks.targets(y, X.shape[0])
        if reset:
            self._fit, self._several = self._start(y.shape[1], n_examples), several
        elif y.shape[1] != self._fit.n_outputs:
            raise ValueError(f"y has {y.shape[1]} outputs; the rows before had {self._fit.n_outputs}.")
        self._fit.run(X, y)
        self.learner_ = self._fit.learner if isinstance(self._fit, OnlineFit) else self._fit
        self.n_iter_, self.cells_, self.draws_ = self._fit.n_rounds, self._fit.cells, self._fit.draws
        self.spent_ = float(self._fit.spent)
        for name in ("radius", "scale", "second_moments"):
            setattr(self, f"{name}_", getattr(self.learner_, name, None))
        if n_examples is not None:
            self._warn_of_few_looks(n_examples)
            _ = self.coef_  # fit fits

    def _warn_of_few_looks(self, n_examples: int) -> None:
        """Say so where a fit had too little to go by."""
        looks = self.cells_ / self.n_features_in_
        if self.learner_ is None or not self.learner_.n_rounds:
            message = f"the pilot used up all {n_examples} examples, so the model is their mean; pass more examples."
        elif self._fit.design != "moments" and looks < PILOT_LOOKS:
            message = (
                f"{n_examples} examples at a budget of {self._budget():g} give each of the {self.n_features_in_} "
                f"attributes about {looks:.2g} looks; expect little from fewer than {PILOT_LOOKS}. Pass more examples "
                "or a larger budget."
            )
        else:
            return
        warn(message, ConvergenceWarning, stacklevel=4)

    # What a fit leaves behind ----------------------------------------------------------------------------------------

    def _model_shape(self, coef, intercept):
        """The model as this estimator publishes it."""
        return coef, intercept

    def _published(self) -> tuple:
        """Coefficients and intercept; after ``partial_fit`` the model is solved for when they are first asked for."""
        if not hasattr(self, "_fit"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet; call fit first.")
        return self._model_shape(np.atleast_2d(self._fit.coef).copy(), np.atleast_1d(self._fit.intercept).copy())

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
        return self._fit.facts if isinstance(self._fit, OnlineFit) else self._fit.fitted.facts

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
