"""Money as whole units of ``10**-decimals``, converted exactly from and to what people write."""

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation

from sparing.units_of_money import MOST_UNITS


def amount(what: str, value) -> Decimal:
    """An amount as it was written: "150.00", 150, 12.5 or a Decimal; never negative.

    >>> amount("budget", "150.00"), amount("budget", 0.1)
    (Decimal('150.00'), Decimal('0.1'))
    """
    try:
        if isinstance(value, bool):
            raise InvalidOperation
        read = value if isinstance(value, Decimal) else Decimal(str(value).strip())
        if read.is_finite() and read >= 0:
            return read
    except InvalidOperation:
        pass
    raise ValueError(f"{what} must be an amount of money such as '150.00'; got {value!r}.")


def decimals_needed(amounts: Iterable[Decimal]) -> int:
    """The largest number of decimal places among these amounts.

    >>> decimals_needed([Decimal("12.50"), Decimal("0.125"), Decimal("1E+2")])
    3
    """
    return max((max(0, -int(each.as_tuple().exponent)) for each in amounts), default=0)


def units(what: str, value: Decimal, decimals: int) -> int:
    """An amount as a whole number of units; an error if it is not whole, or too large to be summed exactly."""
    counted = value.scaleb(decimals)
    if counted != counted.to_integral_value():
        raise ValueError(f"{what} is {value}, finer than the unit of money, 10**-{decimals}; round it.")
    if counted > MOST_UNITS * 2**20:
        raise ValueError(f"{what} is {value}, too large to be counted in units of 10**-{decimals}.")
    return int(counted)


def text(counted: int, decimals: int) -> str:
    """Units as people write them, exactly.

    >>> text(1250, 2), text(7, 0)
    ('12.50', '7')
    """
    return f"{Decimal(counted).scaleb(-decimals):.{decimals}f}"
