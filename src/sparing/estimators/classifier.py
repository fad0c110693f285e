"""Classification from a few attributes of each example."""

from dataclasses import dataclass

from sklearn.linear_model import SGDClassifier
from sklearn.utils.multiclass import check_classification_targets, unique_labels

from sparing.estimators.budget_base import BudgetEstimator
from sparing.estimators.budget_options import documented
from sparing.estimators.known_in_part import ClassifierKnownInPart
from sparing.estimators.labels import LinearClassifier, signs


@documented
@dataclass(eq=False, repr=False)
class BudgetClassifier(ClassifierKnownInPart, LinearClassifier, BudgetEstimator):
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
        self._learn(X, signs(y, classes), reset=True, whole=True)
        self.classes_ = classes
        return self

    def partial_fit(self, X, y, classes=None):
        """Learn from more rows; ``classes`` names all labels at the first call."""
        reset = not hasattr(self, "_fit")
        X, y = self._check_X_y(X, y, reset=reset)
        check_classification_targets(y)
        known = self._known_classes(y, classes, reset)
        self._learn(X, signs(y, known), reset=reset)
        self.classes_ = known
        return self

    def fit_cells(self, cells, *, classes, names=None):
        """Learn from cells that were bought elsewhere, whose targets are signs: one column, or one for each class."""
        classes = unique_labels(classes)
        if cells.n_outputs != (1 if len(classes) == 2 else len(classes)):
            raise ValueError(f"the cells have {cells.n_outputs} targets for {len(classes)} classes; pass all classes.")
        self._learn_cells(cells, names)
        self.classes_ = classes
        return self

    def to_sklearn(self):
        """A plain fitted scikit-learn model with the same predictions."""
        plain = self._copy_to(SGDClassifier(loss="squared_error", fit_intercept=self.fit_intercept))
        plain.coef_, plain.intercept_ = self._decision_weights(plain.coef_, plain.intercept_)
        return plain

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on 300 examples at two looks each
        return tags
