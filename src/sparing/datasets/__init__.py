"""Data to learn from: the papers' simulated data, the real sets they used, and medical tests with prices.

Every loader returns a scikit-learn ``Bunch``, or ``(data, target)`` with ``return_X_y=True``. It always has
these fields; the last five are None if the data set has no such thing:

==================  ==================================================================================
``data``            examples by attributes: an array, or a CSR matrix (RCV1); NaN for a missing value
``target``          one number per example; -1 and +1 if there are two classes
``feature_names``   list of str, in column order
``DESCR``           what the data are, and what +1 means
``labels``          the original label of each example, before it became -1 or +1
``in_train``        True for the examples of the data set's own training part
``costs``           the price of each attribute of one example
``discount_costs``  the price of each attribute once another of its group is bought
``groups``          a group name per attribute: those of one group share a purchase; "" stands alone
==================  ==================================================================================

The real sets are read from the folder that the environment variable ``SPARING_DATA`` names:

* ``mnist.npz``: ``X_train``, ``y_train``, ``X_test``, ``y_test``; 784 pixels, 0 to 255, and digits
* ``covertype.npz``: ``X`` of 54 columns in UCI's order, ``y`` from 1 to 7
* ``rcv1.npz``: a CSR matrix as ``scipy.sparse.save_npz`` writes it, and in the same file ``y`` in -1, 0, +1
  and ``part``, which is 0 for a training row
* ``heart.csv``, ``pima.csv``, ``hepatitis.csv``, ``thyroid.csv``: a header, the attributes, the class
  (``num`` for heart), for thyroid also ``split``; an empty field is a missing value
* ``costs.csv``: ``dataset, attribute, cost_cad, discount_cost_cad, group``

Without that variable scikit-learn downloads MNIST, Covertype and RCV1; the medical sets need their files.
"""

from sparing.datasets.lower_bound import make_hidden_signs, make_lower_bound
from sparing.datasets.max_abs import scale_max_abs
from sparing.datasets.medical import load_medical
from sparing.datasets.real import load_covertype, load_digits_pair, load_digits_parity, load_mnist_pair, load_rcv1
from sparing.datasets.simulated import make_power_law

__all__ = [
    "load_covertype",
    "load_digits_pair",
    "load_digits_parity",
    "load_medical",
    "load_mnist_pair",
    "load_rcv1",
    "make_hidden_signs",
    "make_lower_bound",
    "make_power_law",
    "scale_max_abs",
]
