"""Classification from a few attributes of each example."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.linear_model import SGDClassifier
from sklearn.utils.multiclass import check_classification_targets, unique_labels

from sparing.estimators.budget_base import BudgetEstimator
from sparing.estimators.budget_options import documented


def _signs(y, classes) -> np.ndarray:
    """-1 and +1: one column for two classes, else one per class."""
    if len(classes) < 2:
        raise ValueError(f"y holds only one class, {classes.tolist()}; a classifier needs at least two classes.")
    unknown = np.setdiff1d(y, classes)
    if unknown.size:
        raise ValueError(
            f"y holds labels that were not there at first: {unknown.tolist()}; name all of them with classes= in the "
            "first call of partial_fit."
        )
    columns = classes[1:] if len(classes) == 2 else classes
    return np.where(y[:, None] == columns, 1.0, -1.0)


@documented
@dataclass(eq=False, repr=False)
class BudgetClassifier(ClassifierMixin, BudgetEstimator):
    """Regresses on -1 and +1 from ``budget`` attributes of each example, one weight vector per class.

    All classes learn from the same looks, so the budget is the same for two classes or twenty (two classes need one
    weight vector).

    Parameters
    ----------
    {options}

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

    def fit(self, X, y):
        """Learn from all rows of X, looking at ``budget`` attributes of each."""
        X, y = self._check_X_y(X, y, reset=True)
        check_classification_targets(y)
        classes = unique_labels(y)
        self._learn(X, _signs(y, classes), reset=True, n_examples=X.shape[0])
        self.classes_ = classes
        return self

    def partial_fit(self, X, y, classes=None):
        """Learn from more rows; ``classes`` names all labels at the first call."""
        reset = not hasattr(self, "_fit")
        X, y = self._check_X_y(X, y, reset=reset)
        check_classification_targets(y)
        named = None if classes is None else unique_labels(classes)
        known = (unique_labels(y) if named is None else named) if reset else self.classes_
        if named is not None and not np.array_equal(named, known):
            raise ValueError(f"classes are {named.tolist()}, but in the first call they were {known.tolist()}.")
        self._learn(X, _signs(y, known), reset=reset)
        self.classes_ = known
        return self

    def decision_function(self, X):
        """Signed scores: one for two classes (above zero is the second), else one per class."""
        scores = self._predict(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X):
        """The label with the largest score."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def to_sklearn(self):
        """A plain fitted scikit-learn model with the same predictions."""
        return self._copy_to(SGDClassifier(loss="squared_error", fit_intercept=self.fit_intercept))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on 300 examples at two looks each
        return tags
