"""What every fitted model of cells returns."""

from typing import Any, NamedTuple

import numpy as np


class Fitted(NamedTuple):
    """A model of the cells: one column of weights an output, and what the learner has to say of it."""

    weights: np.ndarray
    intercept: np.ndarray
    facts: dict[str, Any]
