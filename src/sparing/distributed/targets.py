"""Checks of targets before anything is bought: none is missing, and the classes are known."""

from collections.abc import Callable

import numpy as np
from distributed import Client
from sklearn.utils.multiclass import check_classification_targets

from sparing import checks
from sparing.distributed.blocks import Blocks


def refuse_bad_targets(blocks: Blocks, client: Client) -> int:
    """Refuse missing or infinite targets; return the number of outputs."""
    return _of_all(_n_outputs, blocks, client)[0]


def _of_all(function: Callable, blocks: Blocks, client: Client) -> list:
    """The result of a function of the targets, for every block."""
    return client.gather(client.compute([blocks.task_of_targets(function, at) for at in range(len(blocks.y))]))


def _n_outputs(y) -> int:
    checks.refuse_missing_targets(y)
    return checks.targets(y).shape[1]


def classes_of(blocks: Blocks, client: Client) -> np.ndarray:
    """All distinct labels."""
    if blocks.several:
        raise ValueError("y must be a vector of labels; got a matrix.")
    classes = np.unique(np.concatenate(_of_all(_labels, blocks, client)))
    if len(classes) < 2:
        raise ValueError(f"y holds only one class, {classes.tolist()}; a classifier needs at least two classes.")
    return classes


def _labels(y) -> np.ndarray:
    checks.refuse_missing_targets(y)
    check_classification_targets(y)
    return np.unique(y)
