"""Arrays that are stored in chunks, such as those of zarr and HDF5."""

import numpy as np

from sparing import checks


class ChunkSource:
    """A matrix in chunks on disk: a zarr array, an h5py data set, or anything else with ``shape`` and ``chunks``.

    A block is a row of chunks; all of its examples are read with one query. ``bytes_read`` counts the uncompressed
    bytes of all chunks that were read.

    Examples
    --------
    >>> class Stored(np.ndarray):
    ...     chunks = (2, 1)
    >>> source = ChunkSource(np.arange(12.0).reshape(4, 3).view(Stored))
    >>> source.blocks().tolist(), source.read_block(1, np.array([2, 0])).tolist()
    ([2, 2], [[8.0, 6.0], [11.0, 9.0]])
    >>> source.bytes_read
    32
    """

    def __init__(self, array):
        chunks = getattr(array, "chunks", None)
        if chunks is None or len(array.shape) != 2:
            raise ValueError(
                f"a chunked matrix has two dimensions and chunks=(rows, columns); got {type(array).__name__} of shape "
                f"{array.shape} with chunks={chunks}. Plain arrays and memory maps need no source: pass them to fit."
            )
        self.array, self.bytes_read = array, 0
        self.n_examples, self.n_attributes = (int(size) for size in array.shape)
        self._rows, self._columns = (int(size) for size in chunks)

    def blocks(self) -> np.ndarray:
        """The number of examples in each row of chunks."""
        starts = np.arange(0, self.n_examples, self._rows)
        return np.minimum(self._rows, self.n_examples - starts)

    def read(self, example: int, attributes: np.ndarray) -> np.ndarray:
        """The values of one example; this reads whole chunks."""
        block, row = divmod(int(example), self._rows)
        return self.read_block(block, attributes)[row]

    def read_block(self, block: int, attributes: np.ndarray) -> np.ndarray:
        """The values of these attributes of all examples in a row of chunks."""
        first, last = block * self._rows, min((block + 1) * self._rows, self.n_examples)
        values = np.empty((last - first, len(attributes)))
        for chunk in np.unique(attributes // self._columns):
            left = int(chunk) * self._columns
            read = np.asarray(self.array[first:last, left : left + self._columns])
            self.bytes_read += read.nbytes
            here = np.flatnonzero(attributes // self._columns == chunk)
            values[:, here] = read[:, attributes[here] - left]
        return checks.no_infinity(values, first, attributes)
