"""Functions of one column, linear between knots, and the kinds of them that compete."""

from typing import NamedTuple

import numpy as np

LINE = 2.0  # standard deviations from the mean to the knots of a line


class Column(NamedTuple):
    """Functions of one column, linear between knots and constant outside them; NaN if the column is NaN.

    Over the looks at the column they have mean zero, variance one and no correlation. The first is the transformed
    column itself; the others add bends. For a categorical column, knots are the codes of its categories, and functions
    are combinations of their indicators. A *line* is the column minus its mean; it is not constant outside.
    """

    knots: np.ndarray  # increasing, at least two
    values: np.ndarray  # (n_knots, n_functions)
    is_line: bool = False

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The functions at these values: (n, n_functions)."""
        left, part = self.place(x)
        here = self.values[left]
        return here + part[:, None] * (self.values[left + 1] - here)

    def place(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The number of the knot before each value, and its position between this knot (0) and the next (1)."""
        left = self.knots[1:-1].searchsorted(x)
        before = self.knots[left]
        part = (x - before) / (self.knots[left + 1] - before)
        return left, part if self.is_line else np.minimum(np.maximum(part, 0.0), 1.0)

    def inverse(self, transformed: np.ndarray) -> np.ndarray:
        """The values at which the first function has these values; that of numbers increases from knot to knot."""
        scores = self.values[:, 0]
        if not self.is_line:
            return np.interp(transformed, scores, self.knots)
        return self.knots[0] + (transformed - scores[0]) * (self.knots[1] - self.knots[0]) / (scores[1] - scores[0])

    @property
    def spreads(self) -> np.ndarray:
        """Standard deviations of the functions over the looks."""
        return self.values[-1] / LINE if self.is_line else np.ones(self.values.shape[1])


NO_FUNCTIONS = Column(np.array([0.0, 1.0]), np.zeros((2, 0)))


class Kind(NamedTuple):
    """How columns are transformed, and at how many quantiles a curve may bend."""

    transform: str  # "winsorized", "normal scores" or, without hinges, "lines"
    hinges: int

    @property
    def name(self) -> str:
        """The kind in words."""
        if self.transform == "lines":
            return self.transform
        return f"{self.transform}, {self.hinges} hinge{'' if self.hinges == 1 else 's'}"


LINES = Kind("lines", 0)
