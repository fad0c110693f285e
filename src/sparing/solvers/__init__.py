"""Solvers whose cost follows the effective dimension of the data."""

from sparing.solvers.boosting import Boosted, boost_confidence
from sparing.solvers.kernel import solve_kernel_ridge
from sparing.solvers.kernel_smooth import solve_kernel_smooth
from sparing.solvers.newton import solve_smooth
from sparing.solvers.portfolio import solve_portfolio
from sparing.solvers.proximal import proximal_point, proximal_smooth
from sparing.solvers.ridge import solve_ridge
from sparing.solvers.ridge_path import solve_ridge_path

__all__ = [
    "Boosted",
    "boost_confidence",
    "proximal_point",
    "proximal_smooth",
    "solve_kernel_ridge",
    "solve_kernel_smooth",
    "solve_portfolio",
    "solve_ridge",
    "solve_ridge_path",
    "solve_smooth",
]
