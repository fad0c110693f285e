"""What to buy next, and when to stop."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, Self

import numpy as np

from sparing.prediction.stage import Stage

RARE = 1e-3  # of what purchases cost: classes by whose errors less would be lost are left out of simulations
NEGLIGIBLE = 1e-9  # of an expected error: a smaller gain is a rounding error
HORIZON = 16  # purchases to look ahead if their order depends on values and is computed for every case


class Step(NamedTuple):
    """A purchase, and the stage after it if everything is available."""

    columns: np.ndarray
    stage: Stage


class Decision(NamedTuple):
    """What to buy next; nothing, and why."""

    step: Step | None
    why: str = ""


def greedy(stage: Stage, money: float = np.inf, chances: np.ndarray | None = None) -> Iterator[Step]:
    """Purchase after purchase, each the one that is worth most per price given those before."""
    while True:
        offers = stage.offers(money)
        best = offers.best(chances)
        if best is None:
            return
        stage = offers.after(best)
        yield Step(offers.columns(best), stage)


class Ahead:
    """The next purchases after a stage, computed on demand."""

    def __init__(self, steps: Iterator[Step]):
        self._made: list[Step] = []
        self._rest = steps

    def __iter__(self) -> Iterator[Step]:
        yield from self._made
        for step in self._rest:
            self._made.append(step)
            yield step

    def after_first(self) -> Self:
        """The purchases ahead of the next stage."""
        del self._made[0]
        return self


@dataclass(frozen=True)
class Policy:
    """How to go on from a stage.

    Parameters
    ----------
    price_of_error : float, optional
        What a wrong label costs, or one unit of squared error. A visit continues while some of the next purchases
        together are worth more than they cost. A single one rarely is, since it rarely changes a label.
    target_std : float, optional
        The standard deviation that is good enough.
    money : float
        Units that a case may cost.
    """

    price_of_error: float | None = None
    target_std: float | None = None
    money: float = np.inf

    def ahead(self, stage: Stage) -> Ahead:
        """The order from here on, as far as it does not depend on values."""
        return Ahead(greedy(stage, self.money))

    def decide(self, stage: Stage, ahead: Ahead, log_posteriors: np.ndarray | None, n: int) -> list[Decision]:
        """How each of n cases at a stage goes on."""
        if self.target_std is not None and self._is_sure(stage):
            return [Decision(None, f"the standard deviation is at most {self.target_std:g}")] * n
        if not stage.catalogue.adapts or log_posteriors is None:
            return self._decide(stage, ahead, log_posteriors, n)
        return [
            self._decide(stage, islice(greedy(stage, self.money, np.exp(one)), HORIZON), one[None], 1)[0]
            for one in log_posteriors
        ]

    def _decide(self, stage: Stage, ahead, log_posteriors, n: int) -> list[Decision]:
        first = None
        best, before = np.full(n, -np.inf), None
        catalogue, now = stage.catalogue, stage.knowledge
        for length, step in enumerate(ahead, 1):
            first = step if first is None else first
            if self.price_of_error is None:
                return [Decision(first)] * n
            before = catalogue.losses(now, now, log_posteriors) if before is None else before
            price = catalogue.amount(step.stage.spent - stage.spent)
            if price > self.price_of_error * before.max():
                break  # not even certainty is worth that
            if catalogue.adapts and length & (length - 1):
                continue  # errors of many classes are simulated: those of 1, 2, 4, ... purchases will do
            least = RARE * price / self.price_of_error
            after = catalogue.losses(now, step.stage.knowledge, log_posteriors, least)
            gain = self.price_of_error * (before - after) - price
            best = np.maximum(best, gain - NEGLIGIBLE * self.price_of_error * before)
            if (best > 0).all():
                break
        if first is None:
            return [Decision(None, self._nothing_left(stage))] * n
        return [Decision(first) if gain > 0 else Decision(None, NOT_WORTH_IT) for gain in best]

    def _is_sure(self, stage: Stage) -> bool:
        return bool(np.all(stage.catalogue.standard_deviations(stage.knowledge.unexplained) <= self.target_std))

    def _nothing_left(self, stage: Stage) -> str:
        return USED_UP if stage.offers().best() is None else "the budget buys nothing more"


NOT_WORTH_IT = "no further purchase is worth its price"
USED_UP = "nothing is left that would add to the prediction"
