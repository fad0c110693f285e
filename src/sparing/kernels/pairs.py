"""Sums over the pairs of cells that were seen together."""

from sparing.kernels.compiling import entry


@entry
def sum_pairs(starts, attributes, values, sums, counts):
    """``sums[i, j] += x_i x_j`` and ``counts[i, j] += 1`` for i <= j seen in one example: O(b²) an example."""
    for example in range(starts.size - 1):
        for a in range(starts[example], starts[example + 1]):
            for b in range(starts[example], a + 1):
                i, j = attributes[a], attributes[b]
                if i > j:
                    i, j = j, i
                sums[i, j] += values[a] * values[b]
                counts[i, j] += 1


@entry
def sum_with_targets(starts, attributes, values, targets, sums):
    """``sums[i, t] += x_i y_t`` for every attribute seen in an example and each of its targets."""
    for example in range(starts.size - 1):
        for at in range(starts[example], starts[example + 1]):
            for output in range(targets.shape[1]):
                sums[attributes[at], output] += values[at] * targets[example, output]


@entry
def predict_products(starts, attributes, values, targets, weights, singles, pairs, share, losses):
    r"""Estimates of :math:`(\langle w, x\rangle - y)^2` for each example and each column w, from its cells: O(b²) each.

    They are :math:`y^2 + \sum_i u_i (w_i^2 x_i^2 - 2 w_i x_i y) + \sum_{i \ne j} u_{ij} w_i w_j x_i x_j`, where u is
    one over the chance of a cell or of a pair of cells (Horvitz & Thompson 1952). Where ``pairs`` is empty, the chance
    of a pair is the product of both, times ``share``. Targets are repeated where they are fewer than the columns.
    """
    columns, outputs = weights.shape[1], targets.shape[1]
    for example in range(starts.size - 1):
        for c in range(columns):
            losses[example, c] = targets[example, c % outputs] ** 2
        for a in range(starts[example], starts[example + 1]):
            i, x = attributes[a], values[a]
            for c in range(columns):
                z = weights[i, c] * x
                losses[example, c] += singles[i] * z * (z - 2.0 * targets[example, c % outputs])
            for b in range(starts[example], a):
                j = attributes[b]
                scale = pairs[i, j] if pairs.size else singles[i] * singles[j] / share
                scale *= 2.0 * x * values[b]
                for c in range(columns):
                    losses[example, c] += scale * weights[i, c] * weights[j, c]
