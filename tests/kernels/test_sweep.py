"""Scratch space of the kernels that sweep."""

import pytest

from sparing.kernels.sweep import LANES, new_block, own_lines


@pytest.mark.parametrize("most", [3, 40, 400])
def test_long_examples_take_less_room_each(most):
    block = new_block(most)
    assert 1 <= block.scaled.size <= LANES
    assert block.gram.nbytes <= max(8 * 2**15, 8 * most * (most + 1))


def test_lines_of_the_cache_are_not_shared():
    rooms = [own_lines(shape) for shape in ((1,), (3, 5), (1,), (7,))]
    lines = [range(room.ctypes.data // 64, (room.ctypes.data + room.nbytes - 1) // 64 + 1) for room in rooms]
    assert all(room.ctypes.data % 64 == 0 and not room.any() for room in rooms)
    assert len({line for room in lines for line in room}) == sum(map(len, lines))
