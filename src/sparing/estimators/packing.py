"""Values as JSON and arrays, and back, for model files: without pickles, so that reading a file runs no code."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from sparing.estimators.columns import Columns
from sparing.models.bases import Basis, Column, Kind
from sparing.models.calibration import Calibration, HeldOut
from sparing.models.gaussian import FittedModel, Gaussian
from sparing.models.honest_risk import WholeRowRisk

KINDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (FittedModel, Gaussian, Calibration, HeldOut, WholeRowRisk, Basis, Column, Kind, Columns)
}


def packed(value: Any, arrays: dict[str, np.ndarray], name: str) -> Any:
    """The value as JSON; arrays within it are put into ``arrays`` under names that begin with ``name``.

    A value of a type that JSON lacks becomes an object with one entry, whose name is the type.

    >>> arrays = {}
    >>> packed({"budget": 3, "costs": np.ones(2)}, arrays, "options")
    {'dict': [['budget', 3], ['costs', {'array': 'options.costs'}]]}
    >>> unpacked(_, arrays)
    {'budget': 3, 'costs': array([1., 1.])}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray) and value.dtype != object:
        arrays[name] = value
        return {"array": name}
    if isinstance(value, np.ndarray):
        return {"objects": packed(value.tolist(), arrays, name)}
    if type(value).__name__ in KINDS:
        parts = {part: packed(getattr(value, part), arrays, f"{name}.{part}") for part in _parts(type(value))}
        return {type(value).__name__: parts}
    if hasattr(value, "to_dict"):  # a pandas Series: names and values
        value = value.to_dict()
    if isinstance(value, Mapping):
        pairs = [[packed(key, arrays, name), packed(of, arrays, f"{name}.{key}")] for key, of in value.items()]
        return {"dict": pairs}
    if isinstance(value, list | tuple):
        return [packed(entry, arrays, f"{name}.{at}") for at, entry in enumerate(value)]
    raise ValueError(
        f"{name} is a {type(value).__name__}, which a model file cannot hold; pass numbers, text or arrays."
    )


def unpacked(value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """The value that :func:`packed` was given; tuples become lists."""
    if isinstance(value, list):
        return [unpacked(entry, arrays) for entry in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "array":
        return arrays[content]
    if kind == "objects":
        return np.array(unpacked(content, arrays), dtype=object)
    if kind == "dict":
        return {unpacked(key, arrays): unpacked(of, arrays) for key, of in content}
    return KINDS[kind](**{part: unpacked(of, arrays) for part, of in content.items()})


def _parts(kind: type) -> list[str]:
    return [part.name for part in fields(kind)] if is_dataclass(kind) else list(kind._fields)  # type: ignore[attr-defined]
