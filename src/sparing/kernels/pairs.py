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
def predict_products(starts, attributes, values, weights, probabilities, pair_share, estimates):
    r"""Unbiased estimates of :math:`\langle w, x\rangle` and its square for each example, from its cells.

    With :math:`z_i = w_i x_i / \pi_i` they are :math:`\sum_i z_i` and
    :math:`\sum_{i \ne j} z_i z_j / \kappa_e + \sum_i \pi_i z_i^2`, where the chance of a pair is
    :math:`\pi_i \pi_j \kappa_e` (Horvitz & Thompson 1952).
    """
    for example in range(starts.size - 1):
        total, squares, own = 0.0, 0.0, 0.0
        for a in range(starts[example], starts[example + 1]):
            z = weights[attributes[a]] * values[a] / probabilities[a]
            total += z
            squares += z * z
            own += probabilities[a] * z * z
        estimates[example, 0] = total
        estimates[example, 1] = own
        if pair_share[example] > 0.0:
            estimates[example, 1] += (total * total - squares) / pair_share[example]
