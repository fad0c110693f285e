"""What sources with named columns share: files and tables in which one column is the target."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from copy import copy
from typing import Any, Self

import numpy as np

from sparing.files import InputError

NAMED = 20  # columns in a message


class NamedColumns(ABC):
    """A source whose columns have names; each column is an attribute.

    Parameters
    ----------
    numeric : dict of bool by name
        Whether a column has numbers or booleans; others have text, categories or dates, which an estimator learns to
        encode.
    drop : names of columns to leave out
    """

    encoder: Any = None  # turns other columns into numbers: a ``sparing.estimators.columns.Columns``

    def __init__(self, numeric: dict[str, bool], drop: Iterable[str] = ()):
        left_out = [drop] if isinstance(drop, str) else list(drop)
        for name in left_out:
            if name not in numeric:
                raise _unknown(name, numeric)
        self._numeric = {name: of for name, of in numeric.items() if name not in left_out}

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self._numeric)

    @property
    def n_attributes(self) -> int:
        """The number of columns."""
        return len(self._numeric)

    @property
    def numeric(self) -> np.ndarray:
        """Which columns have numbers or booleans."""
        return np.array(list(self._numeric.values()), dtype=bool)

    def split_target(self, name: str) -> tuple[Self, np.ndarray]:
        """A source of the other columns, and the values of this one for all examples."""
        if name not in self._numeric:
            raise _unknown(name, self._numeric)
        others = copy(self)
        others._numeric = {other: of for other, of in self._numeric.items() if other != name}
        return others, self._column(name)

    def only(self, names: Iterable[str]) -> Self:
        """A source of these columns, in this order."""
        some, names = copy(self), list(names)
        for name in names:
            if name not in self._numeric:
                raise _unknown(name, self._numeric)
        some._numeric = {name: self._numeric[name] for name in names}
        return some

    @abstractmethod
    def _column(self, name: str) -> np.ndarray:
        """All values of a column."""

    def _named(self, attributes: np.ndarray) -> list[str]:
        """The names of these attributes, all of which can be turned into numbers."""
        names = self.names
        asked = [names[at] for at in attributes]
        if self.encoder is None and (text := [name for name in asked if not self._numeric[name]]):
            raise InputError(
                f"column {text[0]!r} is not numeric",
                "leave it out with {drop}, or pass the source to an estimator, which learns its categories",
                {"drop": [text[0]]},
            )
        return asked


def _unknown(name: str, names: Iterable[str]) -> InputError:
    listed = list(map(str, names))
    more = f" and {len(listed) - NAMED} more" if len(listed) > NAMED else ""
    return InputError(f"there is no column {name!r}", f"columns are {', '.join(listed[:NAMED])}{more}")
