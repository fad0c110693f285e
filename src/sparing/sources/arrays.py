"""Values in memory, or mapped into it."""

import numpy as np
from scipy import sparse

from sparing import checks


class ArraySource:
    """Rows of an array, a memory map or a CSR matrix.

    Examples
    --------
    >>> source = ArraySource(np.arange(6.0).reshape(2, 3))
    >>> source.read(1, np.array([2, 0])).tolist()
    [5.0, 3.0]
    """

    def __init__(self, X):
        self.X = checks.matrix(X)
        self.n_examples, self.n_attributes = self.X.shape

    def read(self, example: int, attributes: np.ndarray) -> np.ndarray:
        """The values of ``attributes``, in that order."""
        if sparse.issparse(self.X):
            values = self.X[[example], :][:, attributes].toarray()[0].astype(np.float64)
        else:
            values = np.asarray(self.X[example, attributes], dtype=np.float64)
        return checks.no_infinity(values[None], example, attributes)[0]
