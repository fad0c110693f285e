"""Numbers as people write them: with signs of money or per cent, thousands separators, decimal commas, and gaps."""

import re
from collections.abc import Iterable, Sequence

import numpy as np

from sparing.models.bases import MOST_LEVELS

LARGE = 1e12  # from here on numbers are shown with a power of ten
MONEY = "$€£¥"
MARKS = frozenset([  # of a missing value among numbers; text may have a category of that name
    "-", "--", "–", "—", ".", "..", "n.a.", "n.a", "n. a.", "unknown", "missing", "not available",
    "#div/0!", "#value!", "#ref!", "#num!", "#name?", "#null!",
])  # fmt: skip
WRITTEN = re.compile(
    rf"(?P<before>[+\-−]?\s*[{MONEY}]?|[{MONEY}]\s*[+\-−])\s*(?P<digits>[\d.,'’\s]*\d[.,]?(?:e[+-]?\d+)?)\s*"
    rf"(?P<after>[{MONEY}%]?)",
    re.IGNORECASE,
)
BY_POINT = re.compile(r"\d+\.?\d*(e[+-]?\d+)?|\.\d+(e[+-]?\d+)?|[1-9]\d{0,2}([,'’\s]\d{3})+(\.\d*)?", re.IGNORECASE)
BY_COMMA = re.compile(r"\d+(,\d+)?|[1-9]\d{0,2}([.'’\s]\d{3})+(,\d+)?")


def number_shown(value: float, digits: int) -> str:
    """A number with so many digits; a large one as a whole number, as people write prices, rather than with a power.

    >>> number_shown(0.60112, 3), number_shown(4682.3, 4), number_shown(-128047.3, 4), number_shown(2.5e15, 4)
    ('0.601', '4682', '-128,047', '2.5e+15')
    """
    text = f"{value:.{digits}g}"
    return f"{value:,.0f}" if "e+" in text and abs(value) < LARGE else text


def numbers_written(texts: Iterable[str], *, commas_separate: bool) -> tuple[dict[str, float], str] | None:
    """The number that each text stands for, NaN for a mark of a missing value; None unless all texts are such.

    All numbers have one notation and one unit, which is left out: "$1,200" is 1200, and "3 %" is 3. Where separators
    could mark decimals or thousands, they mark thousands of money, and decimals of other numbers; commas mark thousands
    if commas separate columns, too. The second value is a text whose comma was taken for decimals in such a case.

    Examples
    --------
    >>> numbers_written(["$1,200", "$950.50", "-"], commas_separate=True)
    ({'$1,200': 1200.0, '$950.50': 950.5, '-': nan}, '')
    >>> numbers_written(["1,200", "950"], commas_separate=False)
    ({'1,200': 1.2, '950': 950.0}, '1,200')
    >>> numbers_written(["12", "twelve"], commas_separate=True)
    """
    read, missing = {}, {}
    for text in texts:
        written = WRITTEN.fullmatch(text.strip())
        if written is not None:
            read[text] = written
        elif text.strip().lower() in MARKS:
            missing[text] = np.nan
        else:
            return None
    digits = [written["digits"] for written in read.values()]
    by_point, by_comma = (all(map(notation.fullmatch, digits)) for notation in (BY_POINT, BY_COMMA))
    units = {_unit(written) for written in read.values() if written["digits"].strip("0.,")}
    if not (by_point or by_comma) or len(units) > 1:
        return None
    doubtful = ""
    if by_point and by_comma:
        money, commas, points = bool(units - {"", "%"}), *(any(mark in each for each in digits) for mark in ",.")
        if commas and points:
            return None
        by_comma = (points and money) or (commas and not money and not commas_separate)
        doubtful = next(text for text, of in read.items() if "," in of["digits"]) if commas and by_comma else ""
    return {text: _number(written, not by_point or by_comma) for text, written in read.items()} | missing, doubtful


def words_among_numbers(values: Sequence) -> dict[str, list[int]]:
    """The words among values that are mostly numbers, and the places of each; none if the numbers could be codes.

    Examples
    --------
    >>> words_among_numbers([*map(str, range(40)), "on request", None])
    {'on request': [40]}
    >>> words_among_numbers(["1", "2", "3", "other"] * 10)
    {}
    """
    places: dict[str, list[int]] = {}
    for place, value in enumerate(values):
        if isinstance(value, str):
            places.setdefault(value, []).append(place)
    words = {text: of for text, of in places.items() if not WRITTEN.fullmatch(text.strip())}
    numbers = [text for text in places if text not in words]
    n_words, n_texts = (sum(map(len, of.values())) for of in (words, places))
    if len(numbers) <= MOST_LEVELS or 2 * n_words >= n_texts or numbers_written(numbers, commas_separate=True) is None:
        return {}
    return words


def _unit(written: re.Match) -> str:
    """The sign of money or per cent."""
    return (written["before"] + written["after"]).strip("+-− \t\xa0\u202f")


def _number(written: re.Match, decimal_comma: bool) -> float:
    thousands, decimal = (".", ",") if decimal_comma else (",", ".")
    digits = re.sub(rf"[{thousands}'’\s]", "", written["digits"]).replace(decimal, ".")
    return -float(digits) if set(written["before"]) & set("-−") else float(digits)
