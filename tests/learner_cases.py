"""One table of learners for the contract suite, and what its tests and others share."""

import numpy as np

from sparing import learners
from sparing.geometry import second_moments
from sparing.kernels import state as kernel
from sparing.kernels.sampling import AliasTable
from sparing.learners import hinge_loss, squared_loss
from sparing.learners.keeping import KeepingLearner
from sparing.learners.online import OnlineLearner

D, N = 12, 120
RNG = np.random.default_rng(7)
X = np.round(RNG.standard_normal((N, D)) * (RNG.random((N, D)) < 0.7) * np.linspace(2.0, 0.2, D), 2)
Y = X @ RNG.standard_normal(D) + 0.5
MOMENTS = second_moments(X)
PRICES = np.linspace(0.3, 2.1, D) ** 1.1  # sums of these depend on their order
PANELS = ["a", "a", None, "b", "b", "b", None, "", None, None, "c", "c"]
MONEY = {"costs": PRICES, "groups": PANELS, "budget": 4.7, "total_budget": 400.3}
KNOWN = {"second_moments": MOMENTS}
SERIES = {"max_looks": 10, "radius": 1.0}

# By the name of the class: the options of each of its cases.
CASES = {
    "AERR": [{}, {"center": True, "split": "even"}, {"inner": "absolute", "step_size": "adagrad"}],
    "DDAERR": [
        KNOWN,
        KNOWN | {"inner": "improved", "split": "even", "step_size": "adaptive"},
        KNOWN | {"scale": np.sqrt(MOMENTS) + 0.1, "center": True, "floor": 0.1},
    ],
    "TwoPhasedDDAERR": [
        {},
        {"warm_start": False, "epsilon": "theory", "floor": 0, "half_norm": 9.0, "norm_bound": 9.0},
        {"step_size": "adagrad", "projection": "own", "step_scale": 4.0},
        {"warm_start": False, "step_size": "adagrad"},
        {"renew": True, "inner": "improved", "step_size": "adaptive"},
        {"center": True, "inner": "improved", "split": "even", "step_size": "adaptive"},
    ],
    "AELR": [{}, {"center": True, "split": "even", "step_size": "adagrad"}],
    "DDAELR": [KNOWN, KNOWN | {"inner": "improved", "step_size": "adaptive"}],
    "TwoPhasedDDAELR": [
        {"pilot": 20},
        {"inner": "improved", "split": "even", "epsilon": 0.01, "warm_start": False},
        {"warm_start": False, "step_size": "adaptive"},
    ],
    "AER": [{"alpha": 0.5}],
    "AESVR": [
        {"estimator": "plug-in"},
        SERIES | {"accuracy": 1.0},
        SERIES | {"accuracy": 0.5, "orders": "nonzero", "budget": 10, "max_looks": 60},
        SERIES | {"accuracy": 1.0, "shared": True, "center": True},
        SERIES | {"accuracy": 1.0, "inner": "absolute", "step_size": "adagrad"},
    ],
    "AELSVR": [{"estimator": "plug-in"}, SERIES | {"accuracy": 1.0}],
    "AnalyticLearner": [SERIES | {"loss": squared_loss()}, SERIES | {"loss": hinge_loss(2.0)}],
    "PlugInSVR": [KNOWN | {"inner": "improved"}],
    "OnlineRidge": [{}, {"center": True, "step_size": "adaptive"}],
    "OnlineLasso": [{}],
    "PairwiseMoments": [{}, {"ridge": 0.5, "design": "uniform"}, {"penalty": "lasso"}, MONEY, KNOWN],
    "FactorModel": [
        {"rank": 5, "rounds": 8},
        {"rank": "full", "rounds": 6, "costs": PRICES, "budget": 4.7},
        {"rank": 5, "rounds": 8} | MONEY,
    ],
    "MeanImputed": [{}, MONEY],
    "AutoLearner": [MONEY],
}
ALL = [(getattr(learners, name), options) for name, cases in CASES.items() for options in cases]
ONLINE = [case for case in ALL if issubclass(case[0], OnlineLearner)]
KEEPING = [case for case in ALL if issubclass(case[0], KeepingLearner)]


def label(case):
    cls, options = case
    words = [cls.__name__]
    for name, value in options.items():
        words.append(value if isinstance(value, str) else getattr(value, "name", name))
        if isinstance(value, bool | int | float):
            words[-1] += f"-{value}"
    return "-".join(words)


def make(case, **more):
    cls, options = case
    usual = {"radius": 3.0, "budget": 6} if issubclass(cls, OnlineLearner) else {"budget": 4}
    settings = usual | {"n_examples": N, "random_state": 5} | options | more
    if getattr(cls, "reads_everything", False):
        del settings["budget"]
    if cls is learners.AER:  # its steps are long enough
        settings.pop("step_scale", None)
    return cls(D, **settings)


def ceiling(learner):
    """What one example may cost."""
    return getattr(learner, "max_looks", None) or learner.budget


def restored(learner, state):
    """From a state, as a user would: a loss that was given is given again."""
    given = {"loss": learner.loss} if type(learner) is learners.AnalyticLearner else {}
    return type(learner).from_state(state, **given)


def step_by_step(learner, X, y):
    for x, target in zip(X, y, strict=True):
        query = learner.ask()
        learner.tell(query, x[query.attributes], target)
    return learner


def assert_same(left, right):
    """Bit for bit: settings, state and model."""
    left_state, right_state = left.state(), right.state()
    assert left_state.keys() == right_state.keys()
    for name in left_state:
        np.testing.assert_array_equal(left_state[name], right_state[name], err_msg=name)
    np.testing.assert_array_equal(left.coef, right.coef)
    np.testing.assert_array_equal(left.intercept, right.intercept)


def kernel_parts(learner):
    """Copies of what the kernels of an online learner work on: model, table of q, seen and options."""
    groups = {}
    for key, value in learner.state().items():
        group, _, name = key.rpartition(".")
        groups.setdefault(group, {})[name] = value
    options = kernel.restored_options(groups["options"], learner.n_outputs)
    seen = kernel.Seen(**groups["seen"])
    return kernel.Model(**groups["model"]), AliasTable(**groups["table"]), seen, options
