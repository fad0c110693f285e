"""Accuracy, log loss and AUC of a classifier on held-out rows, each with its standard error."""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import train_test_split

PART, FEWEST = 10, 20  # one row in ten is held out, but at least 20 rows and at most a third of all
SURE = 1e-6  # probabilities are clipped at this value in the log loss


@dataclass(frozen=True)
class Measure:
    """One number and its standard error."""

    name: str
    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.name} {self.value:.3f} ± {self.error:.3f}"


@dataclass(frozen=True)
class Verdict:
    """The measures of a classifier on held-out rows."""

    n_learnt: int
    n_judged: int
    most_frequent: float  # accuracy of always naming the most frequent class
    measures: list[Measure]

    def __str__(self) -> str:
        found = ", ".join(map(str, self.measures))
        return (
            f"On {self.n_judged:,} rows that were held out, and read whole, a model of the other {self.n_learnt:,} "
            f"has: {found}; always naming the most frequent class has accuracy {self.most_frequent:.3f}."
        )


def judge(model, X, labels: np.ndarray, random_state: int = 0) -> Verdict:
    """The measures of a copy of the model that is fitted to nine rows in ten, on the others."""
    n = len(labels)
    n_judged = min(max(n // PART, FEWEST), n // 3)
    _, counts = np.unique(labels, return_counts=True)
    alike = labels if counts.min() > 1 and counts.size <= n_judged else None
    learnt, judged = train_test_split(np.arange(n), test_size=n_judged, random_state=random_state, stratify=alike)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the model has warned of the same columns
        fitted = clone(model).fit(_rows(X, learnt), labels[learnt])
    seen = judged[np.isin(labels[judged], fitted.classes_)]  # all rows of a rare class may be held out
    measures = measure(fitted, _rows(X, seen), labels[seen])
    return Verdict(learnt.size, seen.size, float(np.mean(labels[seen] == _most_frequent(labels[learnt]))), measures)


def measure(model, X, labels: np.ndarray) -> list[Measure]:
    """Accuracy and AUC of a fitted classifier and, if it has probabilities, log loss."""
    right = model.predict(X) == labels
    measures = [_mean("accuracy", right.astype(float))]
    truth = labels[:, None] == model.classes_
    chances = probabilities(model, X)
    if chances is not None:
        measures.append(_mean("log loss", -np.log(np.maximum(chances[truth], SURE))))
    scores = model.decision_function(X)
    scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
    both = [k for k in range(truth.shape[1]) if 0 < truth[:, k].sum() < len(truth)]
    if both:
        areas = np.array([area(scores[:, k], truth[:, k]) for k in (both[-1:] if truth.shape[1] == 2 else both)])
        name = "AUC" if truth.shape[1] == 2 else "AUC (mean of one class against the rest)"
        measures.append(Measure(name, float(areas[:, 0].mean()), float(np.sqrt(np.mean(areas[:, 1] ** 2)))))
    return measures


def probabilities(model, X) -> np.ndarray | None:
    """Probabilities of all classes; None if the model has none."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    if not hasattr(model.learner_, "bought"):  # an online learner has scores, no odds
        return None
    odds = model.decision_function(X)
    if odds.ndim == 1:
        return np.column_stack([expit(-odds), expit(odds)])
    chances = expit(odds)
    return chances / chances.sum(axis=1, keepdims=True)


def area(scores: np.ndarray, positive: np.ndarray) -> tuple[float, float]:
    """The area under the ROC curve, and its standard error (DeLong, DeLong & Clarke-Pearson 1988).

    >>> area(np.array([1.0, 2.0, 3.0, 4.0]), np.array([False, True, False, True]))[0]
    0.75
    """
    high, low = np.sort(scores[positive]), np.sort(scores[~positive])
    of_high = _share_below(low, high)
    of_low = 1.0 - _share_below(high, low)
    errors = [part.var(ddof=1) / part.size if part.size > 1 else 0.25 for part in (of_high, of_low)]
    return float(of_high.mean()), float(np.sqrt(sum(errors)))


def _share_below(ordered: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The fraction of the sorted numbers that is below each value; equal numbers count half."""
    sides = [np.searchsorted(ordered, values, side=side) for side in ("left", "right")]
    return (sides[0] + sides[1]) / (2.0 * ordered.size)


def _mean(name: str, values: np.ndarray) -> Measure:
    """A mean; if all values are equal, its standard error is that with one more, different value."""
    spread = np.append(values, 1.0 - values[0]).std() if np.ptp(values) == 0 else values.std()
    return Measure(name, float(values.mean()), float(spread / np.sqrt(values.size)))


def _most_frequent(labels: np.ndarray):
    found, counts = np.unique(labels, return_counts=True)
    return found[counts.argmax()]


def _rows(X, rows: np.ndarray):
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
