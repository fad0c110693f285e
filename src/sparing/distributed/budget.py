"""Budget estimators on many machines."""

from typing import Any

from distributed import Client

from sparing.distributed.blocks import Blocks, publish_columns
from sparing.distributed.buying import buy
from sparing.distributed.targets import classes_of
from sparing.estimators import BudgetClassifier
from sparing.estimators.budget_base import BudgetEstimator
from sparing.estimators.online_fit import OnlineFit
from sparing.learners import AutoLearner


def fit_budget(estimator: BudgetEstimator, blocks: Blocks, client: Client) -> None:
    """Fit as ``estimator.fit`` does on an array of the same rows."""
    _refuse_options(estimator)
    classes = None
    if isinstance(estimator, BudgetClassifier):
        classes = classes_of(blocks, client)
        estimator._check_class_weight(classes)
        n_outputs = 1 if len(classes) == 2 else len(classes)
    else:
        n_outputs = blocks.n_outputs  # targets are checked by the tasks that buy, or each chunk would be loaded twice
    learner = started(estimator, blocks, n_outputs)
    _refuse_online(learner)
    refuse_curves(learner)
    buy(learner, blocks, classes, client)
    learner.solve()
    estimator._several = blocks.several or classes is not None
    estimator._take_over(learner)
    estimator._warn_of_few_looks(blocks.n_rows)
    if classes is not None:
        estimator.classes_ = classes


def started(estimator: BudgetEstimator, blocks: Blocks, n_outputs: int) -> Any:
    """The learner of these options, before a value is read."""
    estimator._columns = None
    publish_columns(estimator, blocks)
    return estimator._start(n_outputs, blocks.n_rows)


def _refuse_options(estimator: BudgetEstimator) -> None:
    if estimator.total_budget is not None:
        raise ValueError(
            f"total_budget={estimator.total_budget!r} is for one machine, as what is left of it follows from all rows "
            "before; leave it out, or call the estimator's own fit."
        )
    if estimator.budget is None:
        raise ValueError(
            "budget=None is for one machine, as holes that no design made need all examples in one place; "
            "pass a budget, or call the estimator's own fit."
        )


def _refuse_online(learner) -> None:
    if isinstance(learner, OnlineFit):
        raise ValueError(
            f"the learner is an online one, because {learner.why}, and takes rows one after the other; "
            "sparing.distributed.average fits one for each block and averages them, which is another algorithm."
        )


def refuse_curves(learner) -> None:
    """Refuse a learner that may end without weights."""
    if isinstance(learner, AutoLearner) and learner.features != "linear":
        raise ValueError(
            f"features={learner.features!r} may choose curves and trees, which need all cells in one place; on many "
            "machines pass features='linear'."
        )
