"""What the budget estimators share: from options to a learner, the loop over chunks, and what a fit leaves behind."""

from typing import Any, ClassVar
from warnings import warn

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from sparing import checks, designs
from sparing.estimators.keeping_fit import WIDEST, BatchFit
from sparing.estimators.online_fit import OnlineFit
from sparing.estimators.pilot import TEN_LOOKS

LEARNERS = ("auto", "online", "pairwise", "factor")
WIDE = "such wide data"
ONLINE_ONLY = {"radius": "auto", "step_size": "auto", "scale": "auto", "pilot": None}


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
            second_moments=self.second_moments,
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
        return self.n_features_in_ > WIDEST[self._penalty]

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
