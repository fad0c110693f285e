"""Condition a Gaussian on the cells of each example: solve its covariance for them."""

from sparing.kernels.compiling import entry
from sparing.kernels.factor import fill_from_parts, posterior
from sparing.kernels.sweep import fill_from_table, load, sweep


@entry(any_order=True)
def solve_by_table(covariance, looks, first, last, block, solution):
    r""":math:`\Sigma_{SS}^{-1} x_S` of the examples from first to last, cell by cell; ``looks`` has no targets."""
    for start in range(first, last, block.index.shape[1]):
        n = load(block, looks, covariance.shape[0], start, last)
        fill_from_table(covariance, block, n)
        for pivot in range(n):
            sweep(block, n, pivot)
        for example in range(start, min(start + block.index.shape[1], last)):
            for at in range(looks.starts[example], looks.starts[example + 1]):
                solution[at] = block.gram[n, at - looks.starts[example], example - start]


@entry(any_order=True)
def solve_by_parts(covariance, looks, first, last, block, solution):
    """The same for a factor model, where examples have fewer cells than there are factors."""
    for start in range(first, last, block.index.shape[1]):
        n = load(block, looks, covariance.variances.size, start, last)
        fill_from_parts(covariance, block, n)
        for pivot in range(n):
            sweep(block, n, pivot)
        for example in range(start, min(start + block.index.shape[1], last)):
            for at in range(looks.starts[example], looks.starts[example + 1]):
                solution[at] = block.gram[n, at - looks.starts[example], example - start]


@entry(any_order=True)
def solve_by_factors(factors, looks, first, last, room, solution):
    r"""The same where examples have more cells: :math:`\Psi_S^{-1} (x_S - L_S z)` with the posterior mean z."""
    for example in range(first, last):
        posterior(factors, looks, example, 0, room)
        for at in range(looks.starts[example], looks.starts[example + 1]):
            own, left = looks.attributes[at], looks.values[at]
            for k in range(room.z.size):
                left -= factors.loadings[own, k] * room.z[k]
            solution[at] = left / factors.noise[own]
