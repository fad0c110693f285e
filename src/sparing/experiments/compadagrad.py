"""Experiments of Mehta et al. (2016): MNIST 4 against 9 with Gaussian features, and Reuters RCV1.

Every function makes one draw and returns one :class:`Outcome` a method, so that gaps between methods can be taken draw
by draw. A method is a name, "diagonal", "full", "compressed" or "sketched", with options of
:class:`sparing.OnlineClassifier`.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist, pdist

from sparing.datasets import load_mnist_pair, load_rcv1
from sparing.estimators import OnlineClassifier


class Outcome(NamedTuple):
    """Errors as parts of one: online, of the averaged iterate and of the last one on test data; and the online loss."""

    online_error: float
    online_loss: float
    averaged_error: float
    final_error: float


def gaussian_features(X_train, y_train, X_test, *, n_prototypes: int = 400, width: float = 0.4, rng):
    r""":math:`\exp(-\|x - p\|^2 / 2 s^2)` for as many prototypes p of each class, drawn from the training set.

    s is ``width`` times the median distance between two prototypes. The paper does not tell its s: at the median itself
    all features are alike, and dominated by their mean.
    """
    half = n_prototypes // 2
    chosen = [rng.choice(np.flatnonzero(y_train == label), half, replace=False) for label in (-1, 1)]
    prototypes = X_train[np.concatenate(chosen)]
    s = width * np.median(pdist(prototypes))
    return tuple(np.exp(-(cdist(X, prototypes, "sqeuclidean")) / (2 * s**2)) for X in (X_train, X_test))


def mnist_four_nine(
    methods: Mapping[str, Mapping], *, seed: int, width: float = 0.4, n_examples: int | None = None
) -> dict[str, Outcome]:
    """One pass over MNIST's 4s and 9s in random order, for each method on the same draw of prototypes and order."""
    rng = np.random.default_rng(seed)
    X, y = load_mnist_pair(4, 9, return_X_y=True)
    X_test, y_test = load_mnist_pair(4, 9, subset="test", return_X_y=True)
    order = rng.permutation(len(y))[:n_examples]
    train, test = gaussian_features(X / 255, y, X_test / 255, width=width, rng=rng)
    return _compare(methods, train[order], y[order], test, y_test, seed=seed, batch_size=1)


def reuters(methods: Mapping[str, Mapping], *, seed: int, batch_size: int = 160, train_part: float = 0.75):
    """RCV1 in random order: gradients of small batches, trained on the first part and tested on the rest."""
    X, y = load_rcv1(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    n_train = int(train_part * len(y))
    train, test = order[:n_train], order[n_train:]
    return _compare(methods, X[train], y[train], X[test], y[test], seed=seed, batch_size=batch_size)


def _compare(methods, X, y, X_test, y_test, *, seed: int, batch_size: int) -> dict[str, Outcome]:
    outcomes = {}
    for name, options in methods.items():
        model = OnlineClassifier(batch_size=batch_size, fit_intercept=False, random_state=seed, **options).fit(X, y)
        final = np.mean((X_test @ model.last_weights_[0] > 0) != (y_test > 0))
        averaged = 1 - model.score(X_test, y_test)
        outcomes[name] = Outcome(model.online_error_, model.online_loss_, averaged, float(final))
    return outcomes
