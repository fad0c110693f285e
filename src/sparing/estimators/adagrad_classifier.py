"""Online linear classification with the AdaGrad family."""

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, unique_labels

from sparing import checks
from sparing.estimators.adagrad import OnlineLinear


class OnlineClassifier(ClassifierMixin, OnlineLinear):
    r"""Online linear classification with an optimiser of the AdaGrad family; several classes by one-versus-rest.

    Attributes not listed here are those of :class:`OnlineRegressor`.

    Parameters
    ----------
    loss : {"logistic", "hinge", "squared"}, default="logistic"
        :math:`\log(1 + e^{-yz})`, :math:`\max(1 - yz, 0)` or :math:`\frac12 (z - y)^2` with labels :math:`y = \pm 1`.
    optimizer, step_size, k, tau, delta, l2, l1, refresh, batch_size, n_passes, average, fit_intercept, random_state
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

    _losses = ("logistic", "hinge", "squared")

    def __init__(
        self,
        loss="logistic",
        *,
        optimizer="compressed",
        step_size=1.0,
        k="auto",
        tau=1.0,
        delta=1e-4,
        l2=0.0,
        l1=0.0,
        refresh=16,
        batch_size=1,
        n_passes=1,
        average=True,
        fit_intercept=True,
        random_state=None,
    ):
        super().__init__(
            loss,
            optimizer=optimizer,
            step_size=step_size,
            k=k,
            tau=tau,
            delta=delta,
            l2=l2,
            l1=l1,
            refresh=refresh,
            batch_size=batch_size,
            n_passes=n_passes,
            average=average,
            fit_intercept=fit_intercept,
            random_state=random_state,
        )

    def fit(self, X, y):
        """Learn from all rows of X, in their order."""
        X, y = self._check(X, y=y, reset=True)
        check_classification_targets(y)
        classes = unique_labels(y)
        self._learn_labels(X, y, classes, reset=True, n_passes=checks.whole("n_passes", self.n_passes))
        return self

    def partial_fit(self, X, y, classes=None):
        """Learn from more rows; ``classes`` names all labels at the first call."""
        reset = not hasattr(self, "_runs")
        X, y = self._check(X, y=y, reset=reset)
        check_classification_targets(y)
        known = self.classes_ if not reset else unique_labels(y if classes is None else classes)
        if classes is not None and not np.array_equal(known, unique_labels(classes)):
            raise ValueError(f"classes are {list(classes)}, but in the first call they were {known.tolist()}.")
        self._learn_labels(X, y, known, reset=reset)
        return self

    def _learn_labels(self, X, y, classes, **more) -> None:
        if len(classes) < 2:
            raise ValueError(f"y holds only one class, {classes.tolist()}; a classifier needs at least two classes.")
        unknown = np.setdiff1d(y, classes)
        if unknown.size:
            raise ValueError(
                f"y holds labels that were not there at first: {unknown.tolist()}; name all of them with classes= in "
                "the first call of partial_fit."
            )
        self.classes_ = classes
        self._learn(X, np.where(y[:, None] == (classes[1:] if len(classes) == 2 else classes), 1.0, -1.0), **more)
        self.online_error_ = self._n_wrong / self._n_seen

    def _mistakes(self, scores, targets) -> int:
        if scores.shape[1] == 1:
            return int(np.sum((scores > 0) != (targets > 0)))
        return int(np.sum(scores.argmax(axis=1) != targets.argmax(axis=1)))

    def decision_function(self, X):
        """Signed scores: one for two classes (above zero is the second), else one per class."""
        scores = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X):
        """The label with the largest score."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # one pass over 300 examples
        return tags
