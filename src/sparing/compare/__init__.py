"""Which algorithm learns most from the same number of attributes? The papers' experiment, on any data.

Every algorithm gets the same allowances of attributes. An attribute-efficient one spends them on a few attributes of
many examples, one with full information on whole rows. The score is the loss on test data over that of the zero
predictor. Settings are chosen by cross-validation within the training data, and the values read for that are not
counted: the papers did the same.
"""

from sparing.compare.algorithms import ALGORITHMS, LINE_UPS, Algorithm, Setting, algorithm_names
from sparing.compare.experiment import compare
from sparing.compare.result import Comparison, Point, Row

__all__ = [
    "ALGORITHMS",
    "LINE_UPS",
    "Algorithm",
    "Comparison",
    "Point",
    "Row",
    "Setting",
    "algorithm_names",
    "compare",
]
