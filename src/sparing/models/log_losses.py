"""Losses by which models of classes are compared before their probabilities are calibrated."""

import numpy as np


def log_losses(targets: np.ndarray, predictions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The log loss of each example if labels are regressed on predictions, averaged over outputs: (n,).

    Targets are positive for one class and negative for the others. The probability of a rare class is a curved function
    of the best line. So by squared errors any model of curves is better than lines, though it knows no more; logistic
    regressions on the predictions of both take this into account.
    """
    from sklearn.linear_model import LogisticRegression

    losses = np.zeros(len(targets))
    for labels, predicted in zip((targets > 0).T, predictions.T, strict=True):
        if labels.any() and not labels.all():
            column = (predicted - predicted.mean())[:, None] / max(predicted.std(), np.finfo(float).tiny)
            fitted = LogisticRegression(C=1e3).fit(column, labels, sample_weight=weights)
            losses -= weights * fitted.predict_log_proba(column)[np.arange(len(labels)), labels.astype(int)]
    return losses / targets.shape[1]
