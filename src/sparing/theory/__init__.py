r"""Step sizes, risk bounds and sample sizes of attribute-efficient regression, each with its theorem.

The sources are Hazan & Koren 2012 (HK) and Kukliansky & Shamir 2015 (KS, numbered as in the long version).
With d attributes, m examples, k looks at the point, radius B and gradient estimates of second moment at most
:math:`G^2`, a run with step size :math:`\eta` has an expected excess risk of at most

.. math:: \frac{2B^2}{\eta m} + \frac{\eta G^2}{2}

for ridge (KS Theorem 3.1, HK Theorem 3.1), and for lasso, if :math:`\eta \le 1/(2G)`,

.. math:: \frac{B \log(2d)}{\eta m} + 5 B \eta G^2

(KS Theorem 4.1, HK Theorem 3.4). Both are :math:`a/(\eta m) + b \eta G^2`: smallest at
:math:`\eta = \sqrt{a/b} / (G \sqrt m)`, where it is :math:`2G\sqrt{ab/m}`. What is left to an algorithm is its
:math:`G^2 = 4 B^2 V`: V bounds the second moment of its estimate of the example.

The theorems assume :math:`\|x\| \le 1` (2-norm for ridge, largest entry for lasso) and :math:`|y| \le B`. With
:math:`\|x\| \le X` they hold for :math:`x' = x/X`, :math:`w' = X w`, :math:`B' = X B`. The loss stays as it is,
:math:`g = X g'`, and so :math:`G = X G' = 2 X^2 B \sqrt{V'}`: with that G, step size and bound are those of the data as
they are, for :math:`|y| \le X B`.

Where printed formulas contradict their proofs, the proofs are followed: the step of AELR is
:math:`\sqrt{\log(2d) / (5m)} / G` (HK print :math:`1/(4B^2)` for :math:`1/(4B)`, KS repeat the ridge step); the k (or
1) of KS Theorems 3.6 and 3.12 stands outside the inner root; and the fallback step of KS Lemma 3.10 has 6d.
"""

from sparing.theory.bounds import gradient_second_moment, risk_bound, sample_complexity, step_size
from sparing.theory.few_looks import examples_lower_order, full_information_looks
from sparing.theory.pilots import confidence_width, pilot_size, smallest_paying_pilot
from sparing.theory.samples import (
    Boosting,
    confident_rows_needed,
    decay_dimension,
    decay_lower_bound,
    excess_risk_bound,
    lower_risk_bound,
    rows_needed,
)
from sparing.theory.spread import ALGORITHMS

__all__ = [
    "ALGORITHMS",
    "Boosting",
    "confidence_width",
    "confident_rows_needed",
    "decay_dimension",
    "decay_lower_bound",
    "examples_lower_order",
    "excess_risk_bound",
    "full_information_looks",
    "gradient_second_moment",
    "lower_risk_bound",
    "pilot_size",
    "risk_bound",
    "rows_needed",
    "sample_complexity",
    "smallest_paying_pilot",
    "step_size",
]
