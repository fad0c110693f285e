"""Online linear classification with the AdaGrad family."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets, unique_labels

from sparing import checks
from sparing.estimators.adagrad import OnlineLinear
from sparing.estimators.labels import LinearClassifier, signs


@dataclass(eq=False, repr=False)
class OnlineClassifier(LinearClassifier, OnlineLinear):
    r"""Online linear classification with an optimiser of the AdaGrad family; several classes by one-versus-rest.

    Attributes not listed here are those of :class:`OnlineRegressor`.

    Parameters
    ----------
    loss : {"logistic", "hinge", "squared"}, default="logistic"
        :math:`\log(1 + e^{-yz})`, :math:`\max(1 - yz, 0)` or :math:`\frac12 (z - y)^2` with labels :math:`y = \pm 1`.
    optimizer, step_size, k, tau, delta, delta_r, delta_c, scaled, l2, l1, refresh
    batch_size, n_passes, average, fit_intercept, random_state
        As for :class:`OnlineRegressor`.

    Attributes
    ----------
    classes_ : array
        The labels.
    online_error_ : float
        Fraction of rows misclassified before they were learnt from.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sparing import OnlineClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = OnlineClassifier(k=16, random_state=0).fit(X[:1200] / 16, y[:1200])
    >>> model.score(X[1200:] / 16, y[1200:]) > 0.85
    True
    """

    loss: str = "logistic"

    _losses: ClassVar[tuple[str, ...]] = ("logistic", "hinge", "squared")

    def fit(self, X, y) -> Self:
        """Learn from all rows of X, in their order."""
        X, y = self._check(X, y=y, reset=True)
        check_classification_targets(y)
        classes = unique_labels(y)
        self._learn_labels(X, y, classes, reset=True, n_passes=checks.whole("n_passes", self.n_passes))
        return self

    def partial_fit(self, X, y, classes=None) -> Self:
        """Learn from more rows; ``classes`` names all labels at the first call."""
        reset = not hasattr(self, "_races")
        X, y = self._check(X, y=y, reset=reset)
        check_classification_targets(y)
        self._learn_labels(X, y, self._known_classes(y, classes, reset), reset=reset)
        return self

    def _learn_labels(self, X, y, classes, **more) -> None:
        targets = signs(y, classes)
        self.classes_ = classes
        self._learn(X, targets, **more)
        self.online_error_ = self._n_wrong / self._n_seen

    def _mistakes(self, scores, targets) -> int:
        if scores.shape[1] == 1:
            return int(np.sum((scores > 0) != (targets > 0)))
        return int(np.sum(scores.argmax(axis=1) != targets.argmax(axis=1)))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # one pass over 300 examples
        return tags
