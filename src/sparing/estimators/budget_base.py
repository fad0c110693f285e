"""What all budget estimators share: parameters, the learner made from them, and the fitted attributes."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar
from warnings import warn

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from sparing import checks, designs
from sparing.cells import Cells
from sparing.estimators.checked_input import CheckedInput
from sparing.estimators.columns import declared_columns
from sparing.estimators.from_source import is_source
from sparing.estimators.known_in_part import KnownInPart
from sparing.estimators.online_fit import PILOT_LOOKS, OnlineFit, is_auto
from sparing.learners import AutoLearner, FactorModel, PairwiseMoments
from sparing.learners.from_sources import rotation
from sparing.learners.keepers import WIDEST_LASSO
from sparing.learners.keeping import KeepingLearner
from sparing.progress import Stages, noticed

LEARNERS = ("auto", "online", "pairwise", "factor")
WIDEST = {"ridge": 1_000_000, "lasso": WIDEST_LASSO}  # attributes up to which "auto" is a keeping learner
BUYING = 0.2  # approximate share of buying in the time of a fit, for progress
USUAL_BUDGET = 5  # attributes per example, or all if there are fewer
ONLINE_ONLY = ("radius", "step_size", "scale", "pilot", "fit_intercept")
KEEPING_ONLY = ("groups", "total_budget", "pay_for_missing")


@dataclass(eq=False, repr=False)
class BudgetEstimator(CheckedInput, KnownInPart, BaseEstimator):
    """What regressors and the classifier share: parameters, the loop over chunks, and the fitted attributes."""

    budget: Any = "auto"
    _: KW_ONLY
    learner: str = "auto"
    features: str = "auto"
    design: str = "auto"
    costs: Any = None
    groups: Any = None
    total_budget: float | None = None
    pay_for_missing: bool = True
    second_moments: Any = None
    alpha: Any = "auto"
    n_examples: int | None = None
    random_state: Any = None
    n_jobs: None = None
    verbose: Any = False
    radius: Any = "auto"
    step_size: Any = "auto"
    scale: Any = "auto"
    pilot: int | None = None
    fit_intercept: bool = True

    _penalty: ClassVar[str] = "ridge"
    _of_classes: ClassVar[bool] = False
    _online_reason: ClassVar[str] = ""  # why the estimator needs an online learner, if it does

    # From options to a learner ---------------------------------------------------------------------------------------

    def _start(self, n_outputs: int, n_examples: int | None) -> OnlineFit | KeepingLearner:
        """Check the parameters and make a learner, before any value is read."""
        checks.one_of("learner", self.learner, LEARNERS)
        checks.one_of("features", self.features, AutoLearner.FEATURES)
        checks.one_of("design", self.design, ("auto", "adaptive", *designs.DESIGNS))
        why = self._why_online()
        self._refuse_options_without_effect(why)
        n_examples = self.n_examples if n_examples is None else n_examples
        if why:
            return self._start_online(n_outputs, n_examples, why)
        options = {
            "budget": self._budget(),
            "n_examples": n_examples,
            "n_outputs": n_outputs,
            "random_state": checks.seed(self.random_state),
            "design": "adaptive" if self.design == "auto" else self.design,
            "costs": self._by_name("costs"),
            "groups": self._by_name("groups", otherwise=None),
            "second_moments": self._by_name("second_moments"),
            "total_budget": self.total_budget,
            "pay_for_missing": self.pay_for_missing,
            "levels": self._levels(),
        }
        learner = self._keeping(options)
        if blind_spots := learner.buyer.shop.blind_spots(self._names()):
            warn(blind_spots, UserWarning, stacklevel=4)
        return learner

    def _levels(self) -> np.ndarray | None:
        """The number of categories of each column; None if no column is categorical or useless."""
        return self._columns.levels if self._columns is not None and self._columns.levels.any() else None

    def _by_name(self, option: str, **otherwise):
        """The values of an option that has one value per column, in column order."""
        names = range(self.n_features_in_) if self._columns is None else self._columns.names
        return checks.by_name(option, getattr(self, option), names, **otherwise)

    def _keeping(self, options: dict[str, Any]) -> KeepingLearner:
        d, penalty = self.n_features_in_, self._penalty
        if self.learner == "factor":
            return FactorModel(d, **options)
        if self.learner == "auto" and is_auto(self.alpha):
            lines = penalty == "lasso" and self.features == "auto"
            options |= {"features": "linear" if lines else self.features, "classes": self._of_classes}
            return AutoLearner(d, penalty=penalty, **options)
        options["ridge" if penalty == "ridge" else "alpha"] = (
            self.alpha if is_auto(self.alpha) else checks.positive("alpha", self.alpha)
        )
        return PairwiseMoments(d, penalty=penalty, **options)

    def _budget(self):
        if not is_auto(self.budget):
            return self.budget
        if self.costs is not None:
            raise ValueError("with costs= the budget is money per example, and has no default; pass budget=.")
        return min(USUAL_BUDGET, self.n_features_in_)

    def _why_online(self) -> str:
        """Why the learner is an online one; "" if it keeps what it buys."""
        if self.learner == "online":
            return "it was asked for"
        if self.learner == "auto" and (self._online_reason or self.n_features_in_ > WIDEST[self._penalty]):
            return self._online_reason or f"there are more than {WIDEST[self._penalty]:,} attributes"
        if self._online_reason:
            raise ValueError(
                f"learner={self.learner!r} is not for this estimator: {self._online_reason}; pass learner='online', or "
                "leave it out."
            )
        return ""

    def _refuse_options_without_effect(self, why_online: str) -> None:
        """Refuse an option that this learner does not have: an option never changes the learner."""
        names, others = (KEEPING_ONLY, ("adaptive",)) if why_online else (ONLINE_ONLY, ("moments", "two-phase"))
        given = [f"{name}=" for name in names if not self._is_default(name)]
        given += [f"design={self.design!r}"] if self.design in others else []
        if given and why_online:
            raise ValueError(
                f"{given[0]} is an option of learners that keep what they buy; leave it out: the learner here is an "
                f"online one, because {why_online}."
            )
        if given:
            raise ValueError(
                f"{given[0]} is an option of online learners; pass learner='online', or leave it out: "
                f"learner={self.learner!r} keeps what it buys and has no such option."
            )
        if self.second_moments is not None and self.design in ("uniform", "two-phase"):
            raise ValueError(f"design={self.design!r} does not use second_moments=; leave out one of the two.")
        lines_only = why_online or self.learner != "auto" or not is_auto(self.alpha)
        if lines_only and self.features == "additive":
            raise ValueError(
                "features='additive' needs learner='auto' and alpha='auto', which keep what they buy and choose how "
                "curves are shrunk; leave out features=, or the other option."
            )
        if self.learner == "factor" and (self._penalty == "lasso" or not is_auto(self.alpha)):
            what = "lasso" if self._penalty == "lasso" else "penalty alpha="
            raise ValueError(f"learner='factor' has no {what}; pass learner='pairwise' for one.")

    def _is_default(self, name: str) -> bool:
        value, default = getattr(self, name), getattr(type(self), name)
        return value is default or (isinstance(value, str | bool | np.bool_) and value == default)

    def _start_online(self, n_outputs: int, n_examples: int | None, why: str) -> OnlineFit:
        names = ("design", "radius", "step_size", "alpha", "pilot")
        if self._columns is not None and (levels := self._columns.levels).max() > 1:
            raise ValueError(
                f"column {self._columns.names[levels.argmax()]!r} is categorical, and an online learner has weights of "
                f"numbers only; it was chosen because {why}. Turn the column into indicators first."
            )
        return OnlineFit(
            budget=self._budget(),
            why=why,
            penalty=self._penalty,
            n_attributes=self.n_features_in_,
            n_outputs=n_outputs,
            center=checks.boolean("fit_intercept", self.fit_intercept),
            n_examples=n_examples,
            seed=checks.seed(self.random_state),
            **{name: getattr(self, name) for name in names},
            **{name: self._by_name(name) for name in ("costs", "second_moments", "scale")},
            **self._loss(),
        )

    def _loss(self) -> dict[str, Any]:
        return {}

    # From rows to a model --------------------------------------------------------------------------------------------

    def _learn(self, X, y, sample_weight=None, *, reset: bool, whole: bool = False) -> None:
        """Learn from these rows. If they are the ``whole`` data, the model is fitted at once."""
        several = np.ndim(y) == 2
        y, weights = checks.targets(y), checks.weights(sample_weight, len(y))
        if weights is not None and not weights.all():  # nothing is bought for rows of weight zero
            if is_source(X):
                raise ValueError("sample_weight is zero for some examples of the source; leave them out of it.")
            X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
            if not y.size and whole:
                raise ValueError("sample_weight is zero everywhere: there is nothing to learn from.")
        n_examples = len(y) if whole else None
        fit = self._start(y.shape[1], n_examples) if reset else self._fit
        if y.shape[1] != fit.n_outputs:
            raise ValueError(f"y has {y.shape[1]} outputs; the rows before had {fit.n_outputs}.")
        with noticed(self.verbose, "learning") as progress:
            work = Stages(progress, {})
            self._buy(fit, X, y, weights, lambda rows: work.advance(BUYING * rows / len(y)))
            if n_examples is not None and isinstance(fit, KeepingLearner):  # after partial_fit, on first use
                fit.solve(lambda part: work.advance((1.0 - BUYING) * part))
            work.finish()
        if reset:
            self._several = several
        self._take_over(fit)
        if n_examples is not None:
            self._warn_of_few_looks(n_examples)

    def _buy(self, fit: OnlineFit | KeepingLearner, X, y, weights, progress) -> None:
        """Let the learner buy and learn from these rows."""
        if not is_source(X):
            fit.run_checked(X, y, weights, progress=progress)
        elif isinstance(fit, KeepingLearner):
            if hasattr(X, "read_block"):
                self._warn_of_few_blocks(len(X.blocks()), rotation(fit.buyer.shop))
            fit.run(X, y, sample_weight=weights, progress=progress)
        else:
            raise ValueError(
                f"an online learner, chosen because {fit.why}, takes rows in memory; run one of sparing.learners over "
                "the source, or leave out learner='online'."
            )

    def _learn_cells(self, cells: Cells, names, categories) -> None:
        """Learn from cells that were bought elsewhere."""
        self.n_features_in_ = cells.n_attributes
        self._columns = declared_columns(() if names is None else names, categories) if categories else None
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        fit = self._start(cells.n_outputs, None)
        if isinstance(fit, OnlineFit):
            raise ValueError("an online learner keeps no cells and cannot learn from any; leave out learner='online'.")
        self._several = cells.n_outputs > 1
        self._take_over(fit.fit_cells(cells))
        ledger = fit.buyer.ledger
        self.spent_ = ledger.amount(ledger.price(cells.attributes))  # at these prices, whoever paid
        _ = self.intercept_

    def _take_over(self, fit: OnlineFit | KeepingLearner) -> None:
        """Set the fitted attributes from a learner, which may come from a model file."""
        self._fit = fit
        self.learner_ = fit.learner if isinstance(fit, OnlineFit) else fit
        self.n_iter_, self.cells_, self.draws_, self.spent_ = fit.n_rounds, fit.cells, fit.draws, float(fit.spent)
        for name in ("radius", "scale", "second_moments"):
            setattr(self, f"{name}_", getattr(self.learner_, name, None))

    def _warn_of_few_looks(self, n_examples: int) -> None:
        """Warn of a fit that had too few looks to learn from."""
        looks = self.cells_ / self.n_features_in_
        if self.learner_ is None or not self.learner_.n_rounds:
            message = f"the pilot used up all {n_examples} examples, so the model is their mean; pass more examples."
        elif self._fit.design != "moments" and looks < PILOT_LOOKS:
            message = (
                f"{n_examples} examples {self._budget_in_words()} give each of the {self.n_features_in_} "
                f"attributes about {looks:.2g} looks; expect little from fewer than {PILOT_LOOKS}. Pass more examples "
                "or a larger budget."
            )
        else:
            return
        warn(message, ConvergenceWarning, stacklevel=4)

    def _warn_of_few_blocks(self, n_blocks: int, needed: int) -> None:
        """Warn of blocks that are too few to read every column once."""
        if n_blocks < needed:
            warn(
                f"{n_blocks} blocks {self._budget_in_words()} leave columns that are never read; {needed} would read "
                "each of them once. Raise the budget, or write the data anew in smaller blocks.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _budget_in_words(self) -> str:
        budget = self._budget()
        return "without a budget" if budget is None else f"at a budget of {budget:g}"

    # What a fit leaves behind ----------------------------------------------------------------------------------------

    def _model_shape(self, of_outputs: np.ndarray):
        """One entry per output, in the shape of this estimator; after ``partial_fit`` the model is fitted here."""
        return of_outputs

    def _learnt(self) -> OnlineFit | KeepingLearner:
        if not hasattr(self, "_fit"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet; call fit first.")
        return self._fit

    @property
    def coef_(self):
        """The weights, in the attributes' own units; a model of curves or trees has none: see :meth:`effect`."""
        return self._model_shape(np.atleast_2d(self._learnt().coef).copy())

    @property
    def intercept_(self):
        """The prediction if all attributes are zero."""
        return self._model_shape(np.atleast_1d(self._learnt().intercept).copy())

    @property
    def report_(self) -> dict[str, Any]:
        """Which model was chosen, among which candidates, and why."""
        check_is_fitted(self, "_fit")
        return self._fit.facts if isinstance(self._fit, OnlineFit) else self._fit.fitted.facts

    @property
    def bound_(self):
        """The theorem's bound on the excess risk, or None: see the class."""
        check_is_fitted(self, "_fit")
        try:
            return getattr(self.learner_, "bound", None)
        except ValueError:  # the moments contradict the scale, and no theorem covers such data
            return None

    def _scores(self, X) -> np.ndarray:
        check_is_fitted(self, "_fit")
        X = self._check_rows(X)
        if isinstance(self._fit, KeepingLearner):
            return self._fit.fitted.predict(X)
        return safe_sparse_dot(X, np.atleast_2d(self._fit.coef).T, dense_output=True) + self._fit.intercept

    def effect(self, column) -> tuple[np.ndarray, np.ndarray]:
        """The curve of a column, given by number or name: some of its values, and what it adds to the prediction there.

        Between these values the curve is linear. Values of a categorical column are its categories, those of a date are
        days since the first. Curves have mean zero: without boosted trees, the effects of all columns and
        ``intercept_`` add up to the prediction. With several outputs there is one row per output.
        """
        check_is_fitted(self, "_fit")
        if not isinstance(self._fit, KeepingLearner):
            raise ValueError("an online learner has weights, no curves; see coef_, or leave out learner='online'.")
        number = checks.column(column, self.n_features_in_, self._names())
        values, parts = self._fit.fitted.effect(number)
        if self._columns is not None and (categories := self._columns.categories[number]).size:
            known = parts.shape[0] == categories.size  # false if all of them were too rare
            values, parts = categories, parts if known else np.zeros((categories.size, parts.shape[1]))
        return values, self._model_shape(np.ascontiguousarray(parts.T))

    def _names(self) -> list[str]:
        return list(getattr(self, "feature_names_in_", ()))

    def _copy_to(self, plain):
        """Give a scikit-learn model the attributes that its ``predict`` needs."""
        check_is_fitted(self, "_fit")
        if not hasattr(self, "coef_"):
            raise ValueError("a model of curves or trees is no linear model; pass features='linear' for one.")
        for name in ("coef_", "intercept_", "n_features_in_", "feature_names_in_", "classes_"):
            if hasattr(self, name):
                setattr(plain, name, getattr(self, name))
        return plain

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
