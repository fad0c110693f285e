"""Values that a function of the user obtains: from a laboratory, a shop or a web service."""

from collections.abc import Callable

import numpy as np

from sparing import checks


class CallableSource:
    """Calls a function ``read(example, attributes)`` for every purchase; NaN marks an unavailable value.

    Examples
    --------
    >>> def laboratory(patient, tests):
    ...     return [100.0 * patient + test for test in tests]
    >>> CallableSource(laboratory, n_examples=3, n_attributes=8).read(2, np.array([7, 1])).tolist()
    [207.0, 201.0]
    """

    def __init__(self, function: Callable, *, n_examples: int, n_attributes: int):
        self.function = function
        self.n_examples = checks.whole("n_examples", n_examples)
        self.n_attributes = checks.whole("n_attributes", n_attributes)

    def read(self, example: int, attributes: np.ndarray) -> np.ndarray:
        """The answer of the function, checked for its length."""
        values = np.asarray(self.function(example, attributes), dtype=np.float64)
        if values.shape != attributes.shape:
            raise ValueError(
                f"the source answered {values.size} values for the {attributes.size} attributes of example {example}; "
                "it must return one value per attribute, in the order asked for."
            )
        return values
