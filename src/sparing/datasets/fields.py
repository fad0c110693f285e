"""What all data sets share: the fields of their Bunch, targets -1 and +1, float types."""

import numpy as np

from sparing import checks

ABSENT = {"labels": None, "in_train": None, "costs": None, "discount_costs": None, "groups": None}


def dataset(*, return_X_y: bool, **fields):
    """A Bunch of these fields, with None for missing ones; or only data and target."""
    if checks.boolean("return_X_y", return_X_y):
        return fields["data"], fields["target"]
    from sklearn.utils import Bunch

    return Bunch(**(ABSENT | fields))


def signs(is_positive) -> np.ndarray:
    """+1 where true, -1 elsewhere."""
    return np.where(is_positive, 1, -1)


def float_type(dtype) -> np.dtype:
    """float32 or float64."""
    if np.dtype(dtype) in (np.float32, np.float64):
        return np.dtype(dtype)
    raise ValueError(f"dtype must be float32 or float64; got {dtype!r}.")
