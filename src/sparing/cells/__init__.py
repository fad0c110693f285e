"""What was bought: values of attributes of examples, with targets and the probability of each look."""

from sparing.cells.pieces import OnePart, Piece
from sparing.cells.store import Cells

__all__ = ["Cells", "OnePart", "Piece"]
