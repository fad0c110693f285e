"""What linear classifiers share: from labels to targets -1 and +1, and from scores back to labels."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import unique_labels


def signs(y, classes) -> np.ndarray:
    """-1 and +1: one column for two classes, else one per class."""
    if len(classes) < 2:
        raise ValueError(f"y holds only one class, {classes.tolist()}; a classifier needs at least two classes.")
    unknown = np.setdiff1d(y, classes)
    if unknown.size:
        raise ValueError(
            f"y holds labels that were not there at first: {unknown.tolist()}; name all of them with classes= in the "
            "first call of partial_fit."
        )
    return np.where(y[:, None] == (classes[1:] if len(classes) == 2 else classes), 1.0, -1.0)


class LinearClassifier(ClassifierMixin):
    """Labels by the scores of weight vectors: one for two classes, else one per class."""

    classes_: Any
    _scores: Any

    def _known_classes(self, y, named, reset: bool) -> np.ndarray:
        """All labels: those of the first call, or those that it named."""
        named = None if named is None else unique_labels(named)
        known = (unique_labels(y) if named is None else named) if reset else self.classes_
        if named is not None and not np.array_equal(named, known):
            raise ValueError(f"classes are {named.tolist()}, but in the first call they were {known.tolist()}.")
        return known

    def decision_function(self, X) -> np.ndarray:
        """Signed scores: one for two classes (above zero is the second), else one per class."""
        scores = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X) -> np.ndarray:
        """The label with the largest score."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]
