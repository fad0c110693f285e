"""How a learner is saved: one flat dict of arrays, which ``np.savez`` writes and ``np.load`` reads.

``algorithm`` is the name of the class, ``setting.<name>`` an argument of its constructor, ``<group>.<name>`` an array
of what was learned. Version 0.1.0 wrote the same layout.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Self

import numpy as np

Groups = dict[str, Mapping[str, Any]]


class Saved(ABC):
    """``state`` and ``from_state`` of a dataclass that says which arrays it holds beyond its settings."""

    @abstractmethod
    def _arrays(self) -> Groups:
        """What was learned, as named groups of arrays; those of the group "" are saved under their own names."""

    @abstractmethod
    def _restore(self, groups: dict[str, dict[str, np.ndarray]]) -> None:
        """Take over what ``_arrays`` gave, in a learner just made; a group that was empty is empty again."""

    def _settings(self) -> dict[str, Any]:
        """The constructor's arguments as they are now; those that are None are left to its defaults."""
        settings = {name: getattr(self, name) for name in _arguments(type(self))}
        return {name: value for name, value in settings.items() if value is not None}

    def state(self) -> dict[str, np.ndarray]:
        """Everything, as arrays: ``np.savez(file, **learner.state())`` saves a learner whole."""
        saved = {"algorithm": np.asarray(type(self).__name__)}
        for group, arrays in ({"setting": self._settings()} | self._arrays()).items():
            prefix = f"{group}." if group else ""
            saved |= {prefix + name: np.array(value) for name, value in arrays.items()}
        return saved

    @classmethod
    def from_state(cls, state) -> Self:
        """The learner that was saved: it goes on as if it had never been interrupted."""
        return cls._restored(state, {})

    @classmethod
    def _restored(cls, state, given: dict[str, Any]) -> Self:
        """As ``from_state``, with settings that cannot be saved ``given`` again."""
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
