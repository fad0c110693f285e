"""What must be known of targets before anything is bought: that they are there, and which classes they name."""

import numpy as np
from dask import delayed
from distributed import Client
from sklearn.utils.multiclass import check_classification_targets

from sparing import checks
from sparing.distributed.blocks import Blocks


def refuse_bad_targets(blocks: Blocks, client: Client) -> int:
    """Refuse targets that are missing or infinite; the number of outputs."""
    return client.gather(client.compute([delayed(_n_outputs, pure=False)(y) for y in blocks.y]))[0]


def _n_outputs(y) -> int:
    checks.refuse_missing_targets(y)
    return checks.targets(y).shape[1]


def classes_of(blocks: Blocks, client: Client) -> np.ndarray:
    """All labels."""
    if blocks.several:
        raise ValueError("y must be a vector of labels; got a matrix.")
    labels = client.gather(client.compute([delayed(_labels, pure=False)(y) for y in blocks.y]))
    classes = np.unique(np.concatenate(labels))
    if len(classes) < 2:
        raise ValueError(f"y holds only one class, {classes.tolist()}; a classifier needs at least two classes.")
    return classes


def _labels(y) -> np.ndarray:
    checks.refuse_missing_targets(y)
    check_classification_targets(y)
    return np.unique(y)
