"""Cells that stay on the workers, with the methods of :class:`~sparing.cells.Cells` that models need."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from sparing.cells import Cells
from sparing.distributed.order import every_in_order
from sparing.distributed.parts import Parts, added
from sparing.learners.evidence import looks
from sparing.models.em import Standardization, StandardizedCells
from sparing.models.families import cells_and_cubes
from sparing.models.scaling import largest
from sparing.models.summary import FirstPass, Summary, first_pass

FIRST: dict[Callable, Callable] = {  # what is computed from all cells before their means are known, and how it is added
    len: added,
    cells_and_cubes: added,
    largest: np.maximum,
    first_pass: FirstPass.plus,
    looks: added,
}


class CellsInParts:
    """The bought cells, part by part, in the order of the rows.

    Parameters
    ----------
    parts : Parts
        Of :class:`~sparing.cells.Cells`.
    n_examples, n_attributes, n_outputs : int
    """

    is_weighted = False
    in_one_place = False

    def __init__(self, parts: Parts, n_examples: int, n_attributes: int, n_outputs: int):
        self.n_examples, self.n_attributes, self.n_outputs = n_examples, n_attributes, n_outputs
        self._parts: Parts | None = parts
        self._bought = self  # from which these cells were made
        self._changes: tuple[tuple[Callable[..., Cells], tuple], ...] = ()
        self._samples: dict[int, Cells] = {}

    @property
    def parts(self) -> Parts:
        """The parts, which only the fitted learner itself has."""
        if self._parts is None:
            raise ValueError(
                "these cells stayed on the workers when their model was copied; gather() them before, or fit again."
            )
        return self._parts

    def __getstate__(self) -> dict[str, Any]:
        """A copy of a model makes the same predictions, but its cells stay on the workers."""
        return vars(self) | {"_parts": None, "_bought": None, "_samples": {}}

    def __len__(self) -> int:
        return self.summed(len)

    @cached_property
    def _first_sums(self) -> dict[Callable, Any]:
        """Sums that need only the cells; one task for each part computes all of them."""
        return dict(zip(FIRST, self.parts.summed(_first, len(self.parts), combine=_both_first), strict=True))

    def summed(self, function: Callable, *arguments, combine: Callable | None = None) -> Any:
        """The sum over all parts of a function of their cells."""
        if function in FIRST and not arguments:
            return self._first_sums[function]
        return self.parts.summed(function, *arguments, combine=combine)

    def mapped(self, function: Callable[..., Cells], *arguments) -> "CellsInParts":
        """The cells that a function returns for every part; it must keep the examples and their order."""
        sizes = (self.n_examples, self.n_attributes, self.n_outputs)
        changed = CellsInParts(self.parts.each(function, *arguments), *sizes)
        changed._bought, changed._changes = self._bought, (*self._changes, (function, arguments))
        return changed

    def only(self, wanted) -> "CellsInParts":
        """The cells of these attributes only."""
        return self if wanted.all() else self.mapped(Cells.only, wanted)

    def every(self, step: int) -> Cells:
        """Every ``step``-th example in the order of one machine, on the client: a sample to choose models by."""
        samples = self._bought._samples
        if step not in samples:
            samples[step] = every_in_order(self._bought.parts, step)
        sample = samples[step]
        for function, arguments in self._changes:
            sample = function(sample, *arguments)
        return sample

    def standardized(self, summary: Summary) -> "StandardizedParts":
        """The same cells in units of this summary."""
        return StandardizedParts(self, summary)

    def to_learn_from(self) -> "CellsInParts":
        """These cells unchanged: sums do not depend on their order, and samples are taken in order."""
        return self

    def gather(self) -> Cells:
        """All cells in one store on the client, which must have room for them."""
        return Cells.merge(self.parts.gathered())

    def _are_elsewhere(self, *_, **__) -> NoReturn:
        raise ValueError(
            "the cells of this model are on the workers of a cluster. To go on learning, or to save it with its cells, "
            "get them first: model.learner_.bought = model.learner_.bought.gather()."
        )

    extend = append = reserve = take = state = _are_elsewhere


class StandardizedParts(Standardization):
    """Cells in units of a summary: they stay on the workers; the client can convert back to original units."""

    def __init__(self, cells: CellsInParts, summary: Summary):
        super().__init__(summary, float(cells.n_examples))
        self.summed = cells.parts.each(_standardized, summary).summed


def _first(cells: Cells, parts: int) -> tuple:
    return tuple(function(cells, parts) if function is first_pass else function(cells) for function in FIRST)


def _both_first(one: tuple, other: tuple) -> tuple:
    return tuple(add(mine, yours) for add, mine, yours in zip(FIRST.values(), one, other, strict=True))


def _standardized(cells: Cells, summary: Summary) -> StandardizedCells:
    return StandardizedCells(cells, summary, n_parts=1)
