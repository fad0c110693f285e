"""Arrays that begin where a line of the cache does, so that what is read together lies in one line."""

import numpy as np

LINE = 64  # bytes


def in_lines(array: np.ndarray) -> np.ndarray:
    """A copy that begins at a line of the cache."""
    room = np.empty(array.nbytes + LINE, np.uint8)
    begin = -room.ctypes.data % LINE
    copy = room[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy
