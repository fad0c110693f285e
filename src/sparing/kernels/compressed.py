"""A round of CompAdaGrad: all that is done to vectors, in two passes, and for small k all that is done to matrices.

Letters are those of :func:`sparing.optim.comp_adagrad`; vectors have n entries, a power of two, and ``work`` is scratch
of that length. ``width`` is that of :func:`sparing.kernels.hadamard.scatter`, 0 for whole transforms, and ``few``
scratch for it. Small tensors have short rounds, in which every call from Python counts: then ``learn`` and ``solve``
take the place of ``prepare`` and ``move``.
"""

from math import sqrt

from sparing.kernels.compiling import entry, part
from sparing.kernels.hadamard import gather, look_up_xor, scatter, transform, upper_levels
from sparing.kernels.root import correct, tridiagonal_solve


@part
def _sketch(work, rows, width, few, out):
    """out = R H work; ``work``, already times the signs, is used up."""
    scale = 1.0 / sqrt(work.size)
    if width:
        upper_levels(work, width)
        gather(work, width, rows, out, few)
    else:
        transform(work, work.size, 1.0)
        for a in range(rows.size):
            out[a] = work[rows[a]]
    for a in range(rows.size):
        out[a] *= scale


@part
def _unsketch(z, rows, width, few, work):
    """work = H R^T z, not yet times the signs."""
    scale = 1.0 / sqrt(work.size)
    if width:
        scatter(work, width, rows, z, few)
        upper_levels(work, width)
        for i in range(work.size):
            work[i] *= scale
    else:
        for i in range(work.size):
            work[i] = 0.0
        for a in range(rows.size):
            work[rows[a]] = z[a]
        transform(work, work.size, scale)


@entry
def prepare(x, g, signs, rows, width, squares, eta, tau, delta, shift, sketched, pull, out, work, few):
    """Sketch the forces, and weigh the complement if there is one: ``squares`` has no entry otherwise.

    force = eta g + shift x, sketched = Pi g, pull = Pi force; squares of P_perp g are added to their sums, weights = B,
    gram = Pi B Pi^T, right = Pi B force. ``out`` holds force, new squares, weights, gram and right.
    """
    force, new_squares, weights, gram, right = out
    n = x.size
    for i in range(n):
        work[i] = signs[i] * g[i]
        force[i] = eta * g[i] + shift * x[i]
    _sketch(work, rows, width, few, sketched)
    for i in range(n):
        work[i] = signs[i] * force[i]
    _sketch(work, rows, width, few, pull)
    if squares.size == 0:
        return
    _unsketch(sketched, rows, width, few, work)
    for i in range(n):
        outside = g[i] - signs[i] * work[i]
        total = squares[i] + outside * outside
        new_squares[i] = total
        weights[i] = 1.0 / (tau * (sqrt(total) + delta) + shift)
        work[i] = weights[i]
    transform(work, n, 1.0)
    look_up_xor(work, rows, 1.0 / n, gram)
    for i in range(n):
        work[i] = signs[i] * weights[i] * force[i]
    _sketch(work, rows, width, few, right)


@entry
def move(x, weights, force, signs, rows, width, inside, multiplier, work, few):
    """x <- x - Pi^T inside - B (force - Pi^T multiplier); without complement ``weights`` has no entry."""
    _unsketch(inside, rows, width, few, work)
    for i in range(x.size):
        x[i] -= signs[i] * work[i]
    if weights.size == 0:
        return
    _unsketch(multiplier, rows, width, few, work)
    for i in range(x.size):
        x[i] -= weights[i] * (force[i] - signs[i] * work[i])


@entry(any_order=True)
def learn(x, g, signs, rows, width, squares, eta, tau, delta, shift, root, new, out, vectors, few):
    """:func:`prepare`, and the root learns Pi g. Returns a bound of the moments' largest eigenvalue.

    ``root`` is (moments, basis, values, recent) of :class:`sparing.optim.root.Root`. Without a basis the moments
    themselves grow, in ``new``; with one ``new`` is ``recent`` with one row more. ``out`` holds squares, gram and
    vectors of k numbers, of which the first three are Pi g, Pi force and the right side.
    """
    moments, basis, values, recent = root
    new_squares, gram, small = out
    k, sketched = rows.size, small[0]
    prepared = vectors[0], new_squares, vectors[1], gram, small[2]
    prepare(x, g, signs, rows, width, squares, eta, tau, delta, shift, sketched, small[1], prepared, vectors[2], few)
    largest = 0.0
    if values.size == 0:
        for a in range(k):
            for b in range(k):
                new[a, b] = moments[a, b] + sketched[a] * sketched[b]
            largest += new[a, a]
        return largest
    count = recent.shape[0]
    _turn(basis, sketched, new[count])
    for a in range(count):
        for i in range(k):
            new[a, i] = recent[a, i]
            largest += recent[a, i] * recent[a, i]
    for i in range(k):
        largest += new[count, i] * new[count, i]
    return largest + values[k - 1]


@entry(any_order=True)
def solve(x, signs, rows, width, root, nodes, delta, shift, out, vectors, few, scratch):
    """Both systems of k equations, and :func:`move`. Returns whether the complement's is positive definite.

    ``root`` and ``out`` are those of :func:`learn`, ``nodes`` their squares and weights. ``scratch`` holds a matrix of
    k rows, or one for ``recent``, and a matrix and a vector of as many rows as that has.
    """
    moments, basis, values, recent = root
    new_squares, gram, small = out
    matrix, few_rows, few_numbers = scratch
    squared, weights = nodes
    k, pull, right, inside = rows.size, small[1], small[2], small[3]
    if new_squares.size > 0 and not _solve_positive(gram, right):
        return False
    if values.size == 0:
        for a in range(k):
            for b in range(k):
                matrix[a, b] = moments[a, b]
        tridiagonal_solve(matrix, squared, weights, delta, pull, small[4], small[5], small[6], small[7], inside)
    else:
        turned, answer = small[4], small[5]
        _turn(basis, pull, turned)
        for i in range(k):
            answer[i] = turned[i] / (sqrt(values[i] + delta) + shift)
        if recent.shape[0] > 0:
            correct(values, recent, turned, squared, weights, delta, answer, matrix, few_rows, few_numbers)
        for a in range(k):
            total = 0.0
            for i in range(k):
                total += basis[a, i] * answer[i]
            inside[a] = total
    move(x, vectors[1, : new_squares.size], vectors[0], signs, rows, width, inside, right, vectors[2], few)
    return True


@part
def _turn(basis, v, out):
    """out = basis^T v."""
    for i in range(v.size):
        out[i] = 0.0
    for a in range(v.size):
        for i in range(v.size):
            out[i] += basis[a, i] * v[a]


@part
def _solve_positive(matrix, v):
    """v <- matrix^-1 v by Cholesky's factor, in place. Returns whether there is one."""
    k = v.size
    for a in range(k):
        for b in range(a + 1):
            total = matrix[a, b]
            for c in range(b):
                total -= matrix[a, c] * matrix[b, c]
            if a == b and not total > 0.0:
                return False
            matrix[a, b] = sqrt(total) if a == b else total / matrix[b, b]
        total = v[a]
        for c in range(a):
            total -= matrix[a, c] * v[c]
        v[a] = total / matrix[a, a]
    for a in range(k - 1, -1, -1):
        v[a] /= matrix[a, a]
        for c in range(a):
            v[c] -= matrix[a, c] * v[a]
    return True
