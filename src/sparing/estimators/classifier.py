"""Classification from a few attributes of each example."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import SGDClassifier
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, unique_labels

from sparing import checks
from sparing.estimators.budget_base import BudgetEstimator
from sparing.estimators.budget_options import documented
from sparing.estimators.known_in_part import ClassifierKnownInPart
from sparing.estimators.labels import LinearClassifier, signs


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class BudgetClassifier(ClassifierKnownInPart, LinearClassifier, BudgetEstimator):
    """Regresses on -1 and +1 from ``budget`` attributes of each example, one weight vector per class.

    All classes learn from the same looks, so the budget is the same for two classes or twenty (two classes need one
    weight vector). The prediction is the class with the largest log-odds by linear discriminant analysis, which follow
    from the regression, its explained variance and the class frequencies. So rare classes are found as well as by
    logistic regression. An online learner does not know its explained variance, and uses the sign of its regression.

    Parameters
    ----------
    {options}
    class_weight : dict, "balanced" or None
        How much each class counts: its odds are multiplied by its weight. "balanced" weights are inverse to class
        frequencies. Looks and weights of attributes do not depend on it; but with an online learner it multiplies the
        weights of the examples.

    Attributes
    ----------
    classes_ : array
        The labels.
    {results}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sparing import BudgetClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = BudgetClassifier(budget=16, random_state=0).fit(X[:1200], y[:1200])
    >>> model.score(X[1200:], y[1200:]) > 0.6
    True
    """

    class_weight: Any = None

    _of_classes: ClassVar[bool] = True

    def fit(self, X, y=None, sample_weight=None, *, target=None) -> Self:
        """Learn from all rows of X, looking at ``budget`` attributes of each.

        X may also be a source (:mod:`sparing.sources`); ``target`` then names its column to predict, in place of y.
        ``sample_weight`` says how much each row counts; nothing is bought for a row of weight 0.
        """
        X, y = self._check_fit(X, y, target)
        check_classification_targets(y)
        classes = unique_labels(y)
        weights = self._example_weights(y, classes, sample_weight)
        self._learn(X, signs(y, classes), weights, reset=True, whole=True)
        self.classes_ = classes
        return self

    def partial_fit(self, X, y, classes=None, sample_weight=None) -> Self:
        """Learn from more rows; ``classes`` names all labels at the first call."""
        reset = not hasattr(self, "_fit")
        X, y = self._check_X_y(X, y, reset=reset)
        check_classification_targets(y)
        known = self._known_classes(y, classes, reset)
        if self._why_online() and isinstance(self.class_weight, str):
            raise ValueError(
                "class_weight='balanced' is not for partial_fit of an online learner, which does not know how frequent "
                "classes will be; pass a dict of weights."
            )
        self._learn(X, signs(y, known), self._example_weights(y, known, sample_weight), reset=reset)
        self.classes_ = known
        return self

    def fit_cells(self, cells, *, classes, names=None, categories=None) -> Self:
        """Learn from cells that were bought elsewhere, with targets -1 and +1 in one column, or in one per class.

        ``names`` and ``categories`` are those of :meth:`BudgetRidge.fit_cells`.
        """
        classes = unique_labels(classes)
        if cells.n_outputs != (1 if len(classes) == 2 else len(classes)):
            raise ValueError(f"the cells have {cells.n_outputs} targets for {len(classes)} classes; pass all classes.")
        self._learn_cells(cells, names, categories)
        self.classes_ = classes
        return self

    # Weights of classes ----------------------------------------------------------------------------------------------

    def _example_weights(self, y, classes, sample_weight):
        """The weights of these rows; for an online learner, multiplied by the weights of their classes."""
        self._check_class_weight(classes)
        if self.class_weight is None or not self._why_online():
            return sample_weight
        of_classes = compute_class_weight(self.class_weight, classes=classes, y=y)
        of_rows = of_classes[np.searchsorted(classes, y)]
        return of_rows if sample_weight is None else of_rows * checks.weights(sample_weight, len(of_rows))

    def _check_class_weight(self, classes) -> None:
        given = self.class_weight
        if given is None or (isinstance(given, str) and given == "balanced"):
            return
        if not isinstance(given, dict):
            raise ValueError(f"class_weight must be None, 'balanced' or a dict of weights by label; got {given!r}.")
        unknown = [label for label in given if label not in classes]
        if unknown:
            raise ValueError(f"class_weight has a weight for {unknown[0]!r}, but the classes are {classes.tolist()}.")
        for label, weight in given.items():
            checks.positive(f"the class_weight of {label!r}", weight)

    def _class_odds(self, priors: np.ndarray) -> np.ndarray:
        """The factors by which the odds of classes with these prior probabilities are multiplied."""
        if self.class_weight is None:
            return np.ones(len(self.classes_))
        if isinstance(self.class_weight, str):
            return 1.0 / priors
        return np.array([self.class_weight.get(label, 1.0) for label in self.classes_.tolist()])

    def to_sklearn(self) -> BaseEstimator:
        """A plain fitted scikit-learn model with the same predictions."""
        plain = self._copy_to(SGDClassifier(loss="squared_error", fit_intercept=self.fit_intercept))
        plain.coef_, plain.intercept_ = self._decision_weights(plain.coef_, plain.intercept_)
        return plain

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on 300 examples at two looks each
        return tags
