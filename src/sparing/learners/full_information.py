"""The same two methods where everything may be looked at: what the few looks are measured against."""

from dataclasses import dataclass, field

from sparing.learners.online import OnlineLearner


@dataclass(kw_only=True, eq=False)
class OnlineRidge(OnlineLearner):
    r"""Online gradient descent that reads whole rows; excess risk at most :math:`4B^2/\sqrt m`.

    Options are those of :class:`OnlineLearner`, but for the budget.
    """

    budget: int = field(default=0, init=False)

    reads_everything = True

    def _check_budget(self) -> None:
        self.budget = self.n_attributes

    def _options_for(self, step_kind, step):
        d = self.n_attributes
        return super()._options_for(step_kind, step)._replace(everything=True, n_point=d, n_inner=d)


class OnlineLasso(OnlineRidge):
    r"""Exponentiated gradient that reads whole rows; excess risk at most :math:`4B^2\sqrt{5\log(2d)/m}`.

    Options are those of :class:`OnlineLearner`, but for the budget.
    """

    penalty = "lasso"
