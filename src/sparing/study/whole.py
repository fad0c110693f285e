"""Whole answers, the usual case: a batch of them is booked by four statements, without looking at rows one by one.

An answer is whole if it gives the target and a number for each attribute, and nothing was told of its example before.
"""

from collections.abc import Sequence
from struct import error as NoNumber
from struct import pack

from sparing.study.books import Books
from sparing.study.rows import TOLD
from sparing.study.values import Values, whole_numbers


def tell_whole(books: Books, answers: Sequence[tuple[int, Values, float | None]], who: str | None) -> range | None:
    """Book answers (ask, values, target), and return their events; if one of them is not whole, book nothing: None."""
    asks = books.untold([number for number, _, _ in answers])
    if len(asks) < len(answers):  # known before, cancelled, unknown, or twice among these
        return None
    booked, price = [], 0
    for number, values, y in answers:
        _, example, holder, attributes, cost = asks[number]
        wanted = whole_numbers(attributes)
        if y is None or len(values) != len(wanted):
            return None
        try:
            readings = pack(f"<{len(wanted)}d", *[values[attribute] for attribute in wanted])
        except (KeyError, NoNumber):  # an attribute that was not asked for, or a word
            return None
        # sqlite3 takes a bytearray as it is, but looks for an adapter of bytes
        booked.append((who or holder, example, number, bytearray([TOLD]) * len(wanted), bytearray(readings), y))
        price += cost
    return books.tell_whole(booked, price)
