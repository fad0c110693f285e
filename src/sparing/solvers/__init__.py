"""Solvers whose cost follows the effective dimension of the data."""

from sparing.solvers.kernel import solve_kernel_ridge
from sparing.solvers.least_squares import solve_ridge, solve_ridge_path
from sparing.solvers.newton import solve_smooth

__all__ = ["solve_kernel_ridge", "solve_ridge", "solve_ridge_path", "solve_smooth"]
