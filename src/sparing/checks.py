"""Argument checks and their messages, written once: what was got, what was expected, what to do."""

from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches

import numpy as np
from scipy import sparse

WHOLE = (int, np.integer)
NUMBER = (int, float, np.integer, np.floating)
REFUSED = object()  # marks an option without a default
LISTED = 8  # names in a message
LARGEST_TARGET = 1e300  # sums and differences of larger targets overflow


def positive(name: str, value, *, zero: bool = False) -> float:
    """A finite number above zero, or zero itself if ``zero`` is true."""
    number = isinstance(value, NUMBER) and not isinstance(value, bool)
    if number and np.isfinite(value) and (value > 0 or (zero and value == 0)):
        return float(value)
    raise ValueError(f"{name} must be a {'non-negative' if zero else 'positive'} finite number; got {value!r}.")


def non_negative(name: str, values) -> np.ndarray:
    """A vector of finite numbers, none below zero."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1:
        raise ValueError(f"{name} must be a vector; got shape {numbers.shape}.")
    bad = np.flatnonzero(~np.isfinite(numbers) | (numbers < 0))
    if bad.size:
        raise ValueError(f"{name} must be finite and not negative; entry {bad[0]} is {numbers[bad[0]]}.")
    return numbers


def whole(name: str, value, *, at_least: int = 1) -> int:
    """A whole number that is not below ``at_least``."""
    if isinstance(value, WHOLE) and not isinstance(value, bool) and value >= at_least:
        return int(value)
    raise ValueError(f"{name} must be a whole number, {at_least} or more; got {value!r}.")


def fraction(name: str, value) -> float:
    """A number strictly between zero and one."""
    if isinstance(value, NUMBER) and 0 < value < 1:
        return float(value)
    raise ValueError(f"{name} must lie strictly between 0 and 1; got {value!r}.")


def boolean(name: str, value) -> bool:
    """True or False, or 1 or 0; no text, since "no" would count as true."""
    if isinstance(value, bool | np.bool_ | int | np.integer) and value in (0, 1):
        return bool(value)
    raise ValueError(f"{name} must be True or False; got {value!r}.")


def one_of(name: str, value, names: Collection[str]) -> str:
    """One of the known names."""
    if isinstance(value, str) and value in names:
        return value
    known = ", ".join(repr(known) for known in names)
    raise ValueError(f"{name} must be one of {known}; got {value!r}.")


def one_of_or(number: Callable, name: str, value, names: Collection[str]):
    """One of the known names if the value is a string, else the result of the check ``number``."""
    return one_of(name, value, names) if isinstance(value, str) else number(name, value)


def attribute_budget(budget, n_attributes: int) -> int:
    """Looks per example: at least two (one for the point, one for the inner product) and at most d."""
    if n_attributes < 2:
        raise ValueError(f"n_features = {n_attributes}: there is nothing to choose; add attributes, or use whole rows.")
    budget = whole("budget", budget, at_least=2)
    if budget > n_attributes:
        raise ValueError(
            f"budget is {budget} attributes per example but there are only {n_attributes}: n_features = "
            f"{n_attributes}; pass a budget between 2 and {n_attributes}, or learn from whole rows."
        )
    return budget


def second_moments(values, n_attributes: int | None = None) -> np.ndarray:
    """One E[x_i^2] per attribute: finite, none negative, not all zero."""
    moments = np.array(values, dtype=np.float64)
    if moments.ndim != 1 or moments.size == 0:
        raise ValueError(f"second_moments must be a vector with one E[x_i^2] per attribute; got shape {moments.shape}.")
    if n_attributes is not None and moments.size != n_attributes:
        raise ValueError(
            f"second_moments has {moments.size} entries for {n_attributes} attributes; pass one E[x_i^2] per "
            "attribute, in column order."
        )
    bad = np.flatnonzero(~np.isfinite(moments) | (moments < 0))
    if bad.size:
        raise ValueError(
            f"second_moments must be finite and not negative; entry {bad[0]} is {moments[bad[0]]}"
            f"{'' if bad.size == 1 else f' ({bad.size} such entries)'}."
        )
    if not moments.any():
        raise ValueError(
            "second_moments are all zero: no attribute would ever be looked at; pass E[x_i^2] of the data."
        )
    return moments


def costs(values, n_attributes: int, *, free: bool = False) -> np.ndarray:
    """One positive price per attribute; with ``free``, prices may be zero."""
    try:
        prices = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"costs must be numbers, without a sign of money: {error}.") from error
    if prices.shape != (n_attributes,):
        raise ValueError(
            f"costs has shape {prices.shape} for {n_attributes} attributes; pass one price per attribute, in column "
            "order."
        )
    bad = ~np.isfinite(prices) | (prices < 0 if free else prices <= 0)
    if bad.any():
        raise ValueError(f"costs must be {'non-negative' if free else 'positive'} and finite; got {prices[bad][0]}.")
    return prices


def levels(values, n_attributes: int) -> np.ndarray:
    """The number of categories of each attribute, 0 for a numeric one."""
    numbers = np.asarray(values)
    if numbers.shape != (n_attributes,) or numbers.dtype.kind not in "iu" or (numbers < 0).any():
        raise ValueError(
            f"levels must hold, for each of the {n_attributes} attributes, its number of categories, or 0 if it is "
            f"numeric; got {values!r}."
        )
    return numbers.astype(np.int64)


def shares(values, n_items: int) -> np.ndarray:
    """One non-negative share per item, with a positive sum."""
    found = np.asarray(values, dtype=np.float64)
    if found.shape != (n_items,) or not np.isfinite(found).all() or (found < 0).any() or not found.any():
        raise ValueError(f"shares must be {n_items} finite numbers, none negative, not all zero; got {values!r}.")
    return found


def radius(values, n_outputs: int) -> float | np.ndarray:
    """A positive number, or one per output."""
    if not isinstance(values, list | tuple | np.ndarray) or n_outputs == np.size(values) == 1:
        return positive("radius", values if np.ndim(values) == 0 else np.ravel(values)[0])
    radii = np.array(values, dtype=np.float64)
    if radii.shape != (n_outputs,) or not np.isfinite(radii).all() or (radii <= 0).any():
        raise ValueError(
            f"radius must be one positive finite number, or one for each of the {n_outputs} outputs; got {values!r}."
        )
    return radii


def scale(values, n_attributes: int) -> np.ndarray:
    """One positive number per attribute, to divide it by."""
    scales = np.array(values, dtype=np.float64)
    if scales.shape != (n_attributes,) or not np.isfinite(scales).all() or (scales <= 0).any():
        raise ValueError(
            f"scale must hold one positive finite number for each of the {n_attributes} attributes; got "
            f"{'some that are not' if scales.shape == (n_attributes,) else f'shape {scales.shape}'}."
        )
    return scales


def matrix(X, n_attributes: int | None = None):
    """Rows to learn from: a numeric array, or a CSR matrix with sorted and distinct indices.

    An array that kernels can read is not copied. Values are checked later, when they are read.
    """
    if sparse.issparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        numbers = X.data
    else:
        X = numbers = X if isinstance(X, np.memmap) else np.asarray(X)
    if X.ndim != 2 or numbers.dtype.kind not in "fiub":
        raise ValueError(f"X must be a matrix of numbers, one row per example; got {numbers.dtype} of shape {X.shape}.")
    if not numbers.dtype.isnative or (numbers.dtype.kind == "f" and numbers.dtype.itemsize not in (4, 8)):
        X, numbers = X.astype(np.float64), numbers.astype(np.float64)  # what kernels cannot read
    if X.shape[0] == 0:
        raise ValueError("X has no rows; there is nothing to learn from.")
    if n_attributes is not None and X.shape[1] != n_attributes:
        raise ValueError(f"X has {X.shape[1]} columns; this learner was made for {n_attributes} attributes.")
    return X


class InfiniteValue(ValueError):
    """A value that was bought is infinite: the run is refused, and nothing is learnt or charged."""


def infinite(row: int, column: int) -> InfiniteValue:
    """The error that names the row and column of an infinite value."""
    return InfiniteValue(
        f"X contains infinity, in row {row}, column {column}; nothing was learnt or charged. Replace it, or pass NaN "
        "for an unavailable value."
    )


def no_infinity(values: np.ndarray, first: int, attributes: np.ndarray) -> np.ndarray:
    """The values themselves, or an error if one is infinite. Row 0 is the example with number ``first``."""
    wrong = np.isinf(values)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise infinite(first + int(row), int(attributes[column]))
    return values


def refuse_missing_targets(y) -> None:
    """Refuse targets with missing entries, whatever their type; nothing else is checked."""
    if hasattr(y, "isna"):  # a pandas Series or frame
        missing = np.asarray(y.isna())
    elif getattr(y, "dtype", None) == np.dtype(object):
        missing = np.frompyfunc(lambda value: value is None or value is not value, 1, 1)(y).astype(bool)
    else:
        return
    rows = np.flatnonzero(missing if missing.ndim == 1 else missing.any(axis=1))
    if rows.size:
        more = f" and {rows.size - 1} more" if rows.size > 1 else ""
        raise ValueError(
            f"y contains NaN: it is missing in row {rows[0]}{more}. Every target must be known; drop those examples."
        )


def refuse_huge_targets(y) -> None:
    """Refuse numbers whose sums would overflow; infinity and other types are checked elsewhere."""
    y = np.asarray(y)
    finite = y[np.isfinite(y)] if y.dtype.kind == "f" else np.zeros(0)
    size = float(np.abs(finite).max(initial=0.0))
    if size > LARGEST_TARGET:
        raise ValueError(
            f"y has a value of size {size:.3g}, and sums of such values overflow; correct it, leave out its "
            f"row, or divide y by a number that brings it below {LARGEST_TARGET:g}."
        )


def targets(y, n_examples: int | None = None) -> np.ndarray:
    """Targets as a float64 matrix with one column per output; finite, one row per example."""
    try:
        y = np.asarray(y, dtype=np.float64)
    except ValueError as error:
        raise ValueError(f"y must hold numbers ({error}); if they are labels of classes, use a classifier.") from error
    if y.ndim not in (1, 2):
        raise ValueError(f"y must be a vector, or a matrix with one column per output; got shape {y.shape}.")
    if n_examples is not None and y.shape[0] != n_examples:
        raise ValueError(f"y has {y.shape[0]} targets for {n_examples} examples; pass one target per example.")
    if not np.isfinite(y).all():
        raise ValueError("y contains NaN or infinity; every target must be known. Drop those examples first.")
    refuse_huge_targets(y)
    return np.require(y.reshape(y.shape[0], -1), requirements=["C", "W"])


def weights(values, n_examples: int | None = None) -> np.ndarray | None:
    """One weight per example, finite and not negative; None if none are given."""
    if values is None:
        return None
    found = non_negative("sample_weight", values)
    if n_examples is not None and found.size != n_examples:
        raise ValueError(f"sample_weight has {found.size} weights for {n_examples} examples; pass one per example.")
    return found


def start(values, shape: tuple[int, ...]) -> np.ndarray:
    """Finite coefficients of this shape to start from; zeros if there are none."""
    if values is None:
        return np.zeros(shape)
    first = np.asarray(values, dtype=np.float64)
    if first.shape != shape or not np.isfinite(first).all():
        got = f"shape {first.shape}" if first.shape != shape else "NaN or infinity"
        raise ValueError(f"start must hold finite coefficients of shape {shape}; got {got}.")
    return first


def seed(random_state) -> int:
    """A 64-bit seed: an integer itself, or else a number drawn from scikit-learn's ``check_random_state``."""
    if isinstance(random_state, WHOLE) and not isinstance(random_state, bool):
        if not 0 <= random_state < 2**63:
            raise ValueError(f"random_state must lie between 0 and 2**63 - 1; got {random_state!r}.")
        return int(random_state)
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(0, 2**31 - 1))


def by_name(option: str, values, names: Collection, *, otherwise=REFUSED):
    """The values of an option in column order, if they are given by name in a dict or a pandas Series.

    Columns without names are named by their numbers. Values of any other type are returned unchanged. A name without a
    column is refused, and so is a column without a value, unless ``otherwise`` gives a default.

    Examples
    --------
    >>> by_name("costs", {"age": 0.0, "glucose": 12.5}, ["glucose", "age"])
    [12.5, 0.0]
    >>> by_name("costs", {"age": 0.0, "glocose": 12.5}, ["glucose", "age"])
    Traceback (most recent call last):
    ValueError: costs names 'glocose', but there is no such column; did you mean 'glucose'?
    """
    if not isinstance(values, Mapping) and not (hasattr(values, "items") and hasattr(values, "index")):
        return values
    given = dict(values.items())
    if len(given) < len(values):
        raise ValueError(f"{option} names some column twice; name each once.")
    if unknown := [name for name in given if name not in names]:
        near = get_close_matches(str(unknown[0]), [str(name) for name in names], 1)
        hint = f"did you mean {near[0]!r}?" if near else f"the columns are {_listed(names)}."
        raise ValueError(f"{option} names {unknown[0]!r}, but there is no such column; {hint}")
    absent = [name for name in names if name not in given]
    if absent and otherwise is REFUSED:
        raise ValueError(f"{option} has no value for {_listed(absent)}; name every column.")
    return [given.get(name, otherwise) for name in names]


def _listed(names: Collection) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(repr(name) for name in list(names)[:LISTED]) + more


def column(value, n_columns: int, names) -> int:
    """The number of a column that is given by its number or name."""
    if isinstance(value, str):
        if value not in names:
            near = get_close_matches(value, names, 1, cutoff=0.5)
            unlike = "." if names else "; the columns have no names: pass a number."
            hint = f"; did you mean {near[0]!r}?" if near else unlike
            raise ValueError(f"there is no column {value!r}{hint}")
        return names.index(value)
    number = whole("column", value, at_least=0)
    if number >= n_columns:
        raise ValueError(f"column must be below {n_columns}, the number of columns; got {number}.")
    return number
