"""What a learner holds: the model, what it cost, and how both are saved."""

from dataclasses import fields
from typing import Any, Self

import numpy as np

from sparing.kernels import state as kernel
from sparing.kernels.lines import in_lines
from sparing.kernels.sampling import AliasTable


class Memory:
    """The state of a learner and the views of it. It exists from the first round on; before, the model is zero."""

    n_attributes: int
    n_outputs: int
    center: bool

    def _forget(self) -> None:
        """As before the first round."""
        self._model: Any = None
        self._seen: Any = None
        self._table: Any = None
        self._options: Any = None
        self._kept: dict[str, np.ndarray] = {}  # what a phase hands on to the next

    @property
    def coef(self) -> np.ndarray:
        """The model: the average of the weights over all rounds; (d,), or (n_outputs, d) for several outputs."""
        if self._model is None:
            return self._shape(np.zeros((self.n_attributes, self.n_outputs)))
        return self._shape(kernel.average(self._model) * self.units[:, None])

    @property
    def last_coef(self) -> np.ndarray:
        """The weights that the last step left."""
        if self._model is None:
            return self.coef
        return self._shape(kernel.weights(self._model) * self.units[:, None])

    @property
    def intercept(self) -> float | np.ndarray:
        """With centring, the mean target less the mean prediction; else zero."""
        intercept = np.zeros(self.n_outputs)
        if self.center and self._model is not None:
            intercept = self._seen.targets - self.means @ np.atleast_2d(self.coef).T
        return float(intercept[0]) if self.n_outputs == 1 else intercept

    def _shape(self, weights: np.ndarray) -> np.ndarray:
        return weights[:, 0].copy() if self.n_outputs == 1 else np.ascontiguousarray(weights.T)

    @property
    def means(self) -> np.ndarray:
        """Mean of the cells seen, per attribute (zeros where means are not tracked)."""
        return np.zeros(self.n_attributes) if self._seen is None else self._seen.attributes[:, kernel.MEAN].copy()

    @property
    def looks(self) -> np.ndarray:
        """How often each attribute was looked at (zeros where means are not tracked)."""
        return np.zeros(self.n_attributes) if self._seen is None else self._seen.attributes[:, kernel.LOOKS].copy()

    @property
    def units(self) -> np.ndarray:
        """What attributes are multiplied by before they are learnt from."""
        return np.ones(self.n_attributes) if self._seen is None else self._seen.attributes[:, kernel.UNIT]

    @property
    def n_rounds(self) -> int:
        """Examples told so far."""
        return 0 if self._model is None else int(self._model.counts[kernel.ROUND])

    @property
    def cells(self) -> int:
        """Distinct values bought so far."""
        return 0 if self._model is None else int(self._model.counts[kernel.CELLS])

    @property
    def draws(self) -> int:
        """Draws made so far; several draws of one value are one purchase."""
        return 0 if self._model is None else int(self._model.counts[kernel.DRAWS])

    def recall(self, counts, means, variances, target_means, n_examples: int) -> None:
        """Begin with running moments of cells that were bought elsewhere, in a pilot say."""
        seen = self._seen.attributes
        seen[:, kernel.LOOKS], seen[:, kernel.MEAN], seen[:, kernel.VARIANCE] = counts, means, variances
        self._seen.targets[:] = target_means
        self._model.counts[kernel.EXAMPLES] = n_examples

    def state(self) -> dict[str, np.ndarray]:
        """Everything, as arrays: ``np.savez(file, **learner.state())`` saves a learner whole."""
        saved = {"algorithm": np.asarray(type(self).__name__)}
        for setting in fields(self):  # type: ignore[arg-type]  # every learner is a dataclass
            value = getattr(self, setting.name)
            if setting.init and value is not None:
                saved[f"setting.{setting.name}"] = np.asarray(value)
        if self._model is not None:
            for group, arrays in (("model", self._model), ("seen", self._seen), ("table", self._table)):
                saved |= {f"{group}.{name}": array.copy() for name, array in arrays._asdict().items()}
            saved |= {f"kept.{name}": array.copy() for name, array in self._kept.items()}
            saved |= {f"options.{name}": np.asarray(value) for name, value in self._options._asdict().items()}
        return saved

    @classmethod
    def from_state(cls, state) -> Self:
        """The learner that was saved: it goes on as if it had never been interrupted."""
        name = str(state["algorithm"])
        if name != cls.__name__:
            raise ValueError(f"the state is that of {name}; restore it with {name}.from_state().")

        def group(prefix):
            return {key.removeprefix(prefix): state[key] for key in state if key.startswith(prefix)}

        settings = {key: value if value.ndim else value.item() for key, value in group("setting.").items()}
        learner = cls(**settings)
        if model := group("model."):
            learner._model = kernel.Model(**{key: in_lines(value) for key, value in model.items()})
            learner._seen = kernel.Seen(**{key: in_lines(value) for key, value in group("seen.").items()})
            learner._table = AliasTable(**{key: in_lines(value) for key, value in group("table.").items()})
            learner._kept = group("kept.")
            learner._options = kernel.Options(**{key: value.item() for key, value in group("options.").items()})
        return learner
