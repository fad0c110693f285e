"""What the tests of simulated and of real data share."""

import numpy as np

FIELDS = {"data", "target", "feature_names", "DESCR"}
FIELDS |= {"labels", "in_train", "costs", "discount_costs", "groups"}


def ratios(moments):
    """The improvement ratios for ridge and lasso."""
    d = len(moments)
    return np.sqrt(moments).sum() ** 2 / (d * moments.sum()), moments.sum() / (d * moments.max())


def check_fields(bunch):
    """Every loader gives the same fields, each as long as there are examples or attributes."""
    n, d = bunch.data.shape
    assert set(bunch) >= FIELDS
    assert bunch.target.shape == (n,)
    assert len(bunch.feature_names) == len(set(bunch.feature_names)) == d
    assert all(isinstance(name, str) for name in bunch.feature_names)
    assert bunch.DESCR
    for per_example in (bunch.labels, bunch.in_train):
        assert per_example is None or per_example.shape == (n,)
    for per_attribute in (bunch.costs, bunch.discount_costs, bunch.groups):
        assert per_attribute is None or per_attribute.shape == (d,)
