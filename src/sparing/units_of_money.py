"""Money in whole units of ``10**-decimals``, so that sums are exact and no count needs a tolerance."""

import numpy as np

DIGITS = 9  # significant digits kept of the smallest price if it is not a short decimal, such as 1/3
MOST_UNITS = 2.0**40  # largest price of a whole example, so that sums over millions of examples are exact
NO_LIMIT = 2**62  # units


def decimals_of(prices) -> int:
    """The number of decimal places that these prices need, or the smallest of them to nine digits.

    Fewer if prices are so large that their sums would not be exact. Prices of zero do not count, and neither do
    ceilings: a fraction of the unit of prices can never be spent.

    >>> decimals_of([12.5, 0.25, 3.0]), decimals_of([7.0]), decimals_of([1 / 3])
    (2, 0, 9)
    """
    prices = np.asarray(prices, np.float64)
    prices = prices[prices > 0]
    if not prices.size:
        return 0
    most = DIGITS + int(np.clip(np.floor(-np.log10(prices.min())), 0, 290))
    for decimals in range(most):
        units = prices * 10.0**decimals
        if np.all(_are_whole(units) & (units > 0.5)) or units.sum() * 10.0 > MOST_UNITS:
            return decimals
    return most


def money_units(amount: float, decimals: int) -> int:
    """Money as a whole number of units of ``10**-decimals``; what is finer than a unit is dropped."""
    return int(_whole(np.float64(amount) * 10.0**decimals))


def price_units(prices, decimals: int) -> np.ndarray:
    """Prices as whole numbers of units of ``10**-decimals``: at least one, unless the attribute is free."""
    prices = np.asarray(prices, np.float64)
    return np.where(prices > 0, np.maximum(_whole(prices * 10.0**decimals), 1.0), 0.0).astype(np.int64)


def _are_whole(units):
    """Which of these are whole numbers, up to the rounding errors of binary fractions."""
    return np.abs(units - np.round(units)) <= np.maximum(1e-6, 2.0**-51 * units)


def _whole(units):
    return np.where(_are_whole(units), np.round(units), np.floor(units))
