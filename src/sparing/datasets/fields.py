"""What every data set has in common: the fields of its Bunch, -1/+1 targets, float types."""

import numpy as np

ABSENT = {"labels": None, "in_train": None, "costs": None, "discount_costs": None, "groups": None}


def dataset(*, return_X_y: bool, **fields):
    """A Bunch of these fields, None for those a data set does not have; or its data and target alone."""
    if return_X_y:
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
