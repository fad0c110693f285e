"""Walsh-Hadamard transforms: whole, of a sparse vector, and of a few wanted outputs; n is a power of two.

Level l of the transform takes numbers 2^l apart to their sum and difference. Three levels are done at a time, in
registers, and everything that fits into a cache is finished there before the next block is touched. H is here the
matrix of +1 and -1, times ``scale``.
"""

from sparing.kernels.compiling import entry, part
from sparing.kernels.vectors import BYTES, REGISTERS, first_levels, one_level, three_levels, two_levels

NEAR = 2**14  # bytes: half of a first-level cache
FAR = 2**18  # bytes: half of a second-level cache


@part
def _levels(x, start, stop, stride, top):
    """The levels of strides ``stride``, ``2 stride``, ... below ``top``; a stride is one register or more.

    The last argument of the butterflies, a scale, counts only in ``first_levels``.
    """
    lanes = BYTES // x.itemsize
    while 8 * stride <= top:
        for block in range(start, stop, 8 * stride):
            for i in range(block, block + stride, lanes):
                three_levels(x, i, stride, x[i])
        stride *= 8
    if 4 * stride == top:
        for block in range(start, stop, 4 * stride):
            for i in range(block, block + stride, lanes):
                two_levels(x, i, stride, x[i])
    if 2 * stride == top:
        for block in range(start, stop, 2 * stride):
            for i in range(block, block + stride, lanes):
                one_level(x, i, stride, x[i])


@part
def _short(x, start, n, scale):
    """A vector too short for registers."""
    for i in range(start, start + n):
        x[i] *= scale
    stride = 1
    while stride < n:
        for block in range(start, start + n, 2 * stride):
            for i in range(block, block + stride):
                x[i], x[i + stride] = x[i] + x[i + stride], x[i] - x[i + stride]
        stride *= 2


@entry
def transform(x, n, scale):
    """x <- scale H x in place, for each of the vectors of length n that lie one after the other in x."""
    lanes = BYTES // x.itemsize
    first = REGISTERS * lanes
    near, far = min(n, NEAR // x.itemsize), min(n, FAR // x.itemsize)
    for vector in range(0, x.size, n):
        if n < first:
            _short(x, vector, n, scale)
            continue
        for outer in range(vector, vector + n, far):
            for inner in range(outer, outer + far, near):
                for i in range(inner, inner + near, first):
                    first_levels(x, i, lanes, scale)
                _levels(x, inner, inner + near, first, near)
            _levels(x, outer, outer + far, near, far)
        _levels(x, vector, vector + n, far, n)


@part
def _sign(digits):
    """-1 to the number of ones among the binary digits: an entry of H is the sign of row and column."""
    digits ^= digits >> 32
    digits ^= digits >> 16
    digits ^= digits >> 8
    digits ^= digits >> 4
    digits ^= digits >> 2
    digits ^= digits >> 1
    return 1 - 2 * (digits & 1)


@entry
def scatter(x, width, indices, values, column):
    """x <- H x for x with few nonzeros, first half: each adds its column of the small H to its stretch of x.

    With ``n / width`` stretches, H is the Kronecker product of H over stretches and H within one. A column starts with
    the few numbers that ``column`` has places for, and goes on with these or their negatives (the doubling of
    CompAdaGrad, Algorithm 1, many steps at a time).
    """
    x[:] = 0
    for j in range(indices.size):
        stretch, place = indices[j] // width * width, indices[j] % width
        for i in range(column.size):
            column[i] = values[j] * _sign(place & i)
        for block in range(0, width, column.size):
            target = x[stretch + block : stretch + block + column.size]
            sign = x.dtype.type(_sign(place & block))
            for i in range(column.size):
                target[i] += sign * column[i]


@entry
def upper_levels(x, width):
    """H over stretches of ``width``, one register or more: the other half of :func:`scatter` and of :func:`gather`."""
    _levels(x, 0, x.size, width, x.size)


@entry
def gather(x, width, rows, out, sums):
    """Entries ``rows`` of H x, second half: sum each one's stretch of x with its signs, in as many sums as there are
    places for, and these at the end. The transpose of :func:`scatter`.
    """
    for j in range(rows.size):
        stretch, place = rows[j] // width * width, rows[j] % width
        sums[:] = 0
        for block in range(0, width, sums.size):
            source = x[stretch + block : stretch + block + sums.size]
            sign = x.dtype.type(_sign(place & block))
            for i in range(sums.size):
                sums[i] += sign * source[i]
        total = 0.0
        for i in range(sums.size):
            total += sums[i] * _sign(place & i)
        out[j] = total


@entry
def look_up_xor(table, rows, scale, out):
    """out[a, c] = scale table[rows[a] xor rows[c]]: what ``R H diag(b) H R^T`` is, for table = H b."""
    for a in range(rows.size):
        for c in range(a + 1):
            out[a, c] = out[c, a] = scale * table[rows[a] ^ rows[c]]


@entry
def columns(rows, indices, scale, out):
    """out[a, j] = scale H[rows[a], indices[j]]."""
    for a in range(rows.size):
        for j in range(indices.size):
            out[a, j] = scale * _sign(rows[a] & indices[j])
