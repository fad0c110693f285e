"""The state of an online learner, what is derived from it, and how it is saved."""

from typing import Any, NamedTuple

import numpy as np

from sparing.kernels import state as kernel
from sparing.kernels.lines import in_lines
from sparing.kernels.sampling import AliasTable
from sparing.learners.saving import Groups, Saved


class State(NamedTuple):
    """The arrays that the kernels of a round read and change."""

    model: kernel.Model
    table: AliasTable  # the probabilities of the point draws
    seen: Any  # kernel.Seen; for kernels, None if the moments are not used
    options: kernel.Options


class Memory(Saved):
    """The state of a learner and what is derived from it. Before the first round there is none: the model is zero."""

    n_attributes: int
    n_outputs: int
    center: bool

    _state: Any = None  # a State from the first round on
    _estimates: np.ndarray | None = None  # second moments estimated in phase one of a two-phased learner
    _weighted: bool = False  # whether an example was told with a weight

    @property
    def coef(self) -> np.ndarray:
        """The model: the average of the weights over all rounds; (d,), or (n_outputs, d) for several outputs."""
        if self._state is None:
            return self._shape(np.zeros((self.n_attributes, self.n_outputs)))
        return self._shape(kernel.average(self._state.model) * self.units[:, None])

    @property
    def last_coef(self) -> np.ndarray:
        """The weights after the last step."""
        if self._state is None:
            return self.coef
        return self._shape(kernel.weights(self._state.model) * self.units[:, None])

    @property
    def intercept(self) -> float | np.ndarray:
        """With centering, the mean target minus the mean prediction; otherwise zero."""
        intercept = np.zeros(self.n_outputs)
        if self.center and self._state is not None:
            intercept = self._state.seen.targets - self.means @ np.atleast_2d(self.coef).T
        return float(intercept[0]) if self.n_outputs == 1 else intercept

    def _shape(self, weights: np.ndarray) -> np.ndarray:
        return weights[:, 0].copy() if self.n_outputs == 1 else np.ascontiguousarray(weights.T)

    def _of_attributes(self, column: int, before: float = 0.0) -> np.ndarray:
        if self._state is None:
            return np.full(self.n_attributes, before)
        return self._state.seen.attributes[:, column].copy()

    @property
    def means(self) -> np.ndarray:
        """Mean of the cells seen, per attribute (zeros if moments are not tracked)."""
        return self._of_attributes(kernel.MEAN)

    @property
    def variances(self) -> np.ndarray:
        """Variance of the cells seen, per attribute (zeros if moments are not tracked)."""
        return self._of_attributes(kernel.VARIANCE)

    @property
    def looks(self) -> np.ndarray:
        """Number of cells seen, per attribute (zeros if moments are not tracked)."""
        return self._of_attributes(kernel.LOOKS)

    @property
    def units(self) -> np.ndarray:
        """The factor by which each attribute is multiplied before the model sees it."""
        return self._of_attributes(kernel.UNIT, before=1.0)

    def _mark(self, n_rows: int) -> dict[str, Any]:
        """All attributes, with copies of the arrays that rounds change: O(d). One row is checked before writing."""
        before = vars(self).copy()
        if self._state is not None and n_rows > 1:
            model, seen = (type(part)(*map(in_lines, part)) for part in (self._state.model, self._state.seen))
            before["_state"] = self._state._replace(model=model, seen=seen)
        return before

    def _return_to(self, before: dict[str, Any]) -> None:
        vars(self).clear()
        vars(self).update(before)

    def _count(self, which: int) -> int:
        return 0 if self._state is None else int(self._state.model.counts[which])

    @property
    def n_rounds(self) -> int:
        """Examples told so far."""
        return self._count(kernel.ROUND)

    @property
    def cells(self) -> int:
        """Distinct values bought so far."""
        return self._count(kernel.CELLS)

    @property
    def draws(self) -> int:
        """Draws made so far; several draws of one value are one purchase."""
        return self._count(kernel.DRAWS)

    def _arrays(self) -> Groups:
        if self._state is None:
            return {}
        groups: dict[str, Any] = {name: part._asdict() for name, part in self._state._asdict().items()}
        kept = {} if self._estimates is None else {"second_moments": self._estimates}
        return groups | {"kept": kept | ({"weighted": True} if self._weighted else {})}

    def _restore(self, groups) -> None:
        if groups["model"]:
            kinds = {"model": kernel.Model, "table": AliasTable, "seen": kernel.Seen}
            arrays = {name: {key: in_lines(array) for key, array in groups[name].items()} for name in kinds}
            parts: dict[str, Any] = {name: kind(**arrays[name]) for name, kind in kinds.items()}
            options = parts["options"] = kernel.restored_options(groups["options"], self.n_outputs)
            parts["model"] = kernel.restored(parts["model"], options.penalty, options.inner)
            _check_restored(parts["model"], parts["seen"], self.n_attributes, self.n_outputs)
            self._state = State(**parts)
            self._estimates = groups["kept"].get("second_moments")
            self._weighted = "weighted" in groups["kept"]


def _check_restored(model: kernel.Model, seen: kernel.Seen, n_attributes: int, n_outputs: int) -> None:
    """Refuse a state whose counts or numbers no run can have produced."""
    shapes = model.rows.shape[:2], seen.attributes.shape, seen.targets.shape
    if shapes != ((n_attributes, n_outputs), (n_attributes, 4), (n_outputs,)):
        raise ValueError(f"the state is not one of {n_attributes} attributes and {n_outputs} outputs: got {shapes}.")
    if model.counts.dtype.kind != "i" or (model.counts < 0).any():
        raise ValueError(f"the counts of a state must be whole numbers, none negative; got {model.counts}.")
    looks = seen.attributes[:, kernel.LOOKS]
    if (looks < 0).any() or (looks != np.floor(looks)).any():
        raise ValueError("the looks of a state must be whole numbers, none negative; it is damaged.")
    if not all(np.isfinite(part).all() for part in (model.rows, model.numbers, model.tree, looks, seen.targets)):
        raise ValueError("the state holds NaN or infinity; it is damaged. Restore another.")
