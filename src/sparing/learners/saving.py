"""How a learner is saved: one flat dict of arrays, which ``np.savez`` writes and ``np.load`` reads.

``algorithm`` is the name of the class, ``setting.<name>`` an argument of its constructor, and ``<group>.<name>`` an
array that was learnt. Version 0.1.0 wrote the same layout.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Self

import numpy as np

Groups = dict[str, Mapping[str, Any]]


class Saved(ABC):
    """``state`` and ``from_state`` for a dataclass that names its arrays besides its parameters."""

    @abstractmethod
    def _arrays(self) -> Groups:
        """What was learnt, as named groups of arrays; arrays of the group "" are saved under their own names."""

    @abstractmethod
    def _restore(self, groups: dict[str, dict[str, np.ndarray]]) -> None:
        """Restore what ``_arrays`` returned, in a new learner; an empty group stays empty."""

    def _settings(self) -> dict[str, Any]:
        """The current values of the constructor's arguments, without those that are None."""
        settings = {name: getattr(self, name) for name in _arguments(type(self))}
        return {name: value for name, value in settings.items() if value is not None}

    def state(self) -> dict[str, np.ndarray]:
        """The complete state as arrays: ``np.savez(file, **learner.state())`` saves a learner."""
        saved = {"algorithm": np.asarray(type(self).__name__)}
        for group, arrays in ({"setting": self._settings()} | self._arrays()).items():
            prefix = f"{group}." if group else ""
            saved |= {prefix + name: np.array(value) for name, value in arrays.items()}
        return saved

    @classmethod
    def from_state(cls, state) -> Self:
        """The learner that was saved; it continues as if it had never been interrupted."""
        return cls._restored(state, {})

    @classmethod
    def _restored(cls, state, given: dict[str, Any]) -> Self:
        """As ``from_state``; parameters that cannot be saved are ``given`` again."""
        if (name := str(state["algorithm"])) != cls.__name__:
            raise ValueError(f"the state is that of {name}; restore it with {name}.from_state().")
        groups: dict[str, dict[str, np.ndarray]] = defaultdict(dict)
        for key in state:
            group, _, entry = key.rpartition(".")
            groups[group][entry] = state[key]
        settings = {key: value if value.ndim else value.item() for key, value in groups["setting"].items()} | given
        if unknown := sorted(settings.keys() - _arguments(cls)):
            raise ValueError(
                f"the state has settings that this version's {name} does not know: {', '.join(unknown)}; restore it "
                "with the version of sparing that saved it."
            )
        learner = cls(**settings)
        learner._restore(groups)
        return learner


def _arguments(cls) -> set[str]:
    return {setting.name for setting in fields(cls) if setting.init}
