"""Centre and spread of a column that cannot overflow and does not depend on the order of the rows.

Every column is first divided by the power of two just above its largest magnitude. That division is
exact, so 1e300 and 1e-300 are as good as 1, and a table in other units (times a power of two) gives
the very same bits. Sums are taken in fixed point, over whole numbers, so the order of the rows changes
nothing at all.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Over a range this small, relative to its largest magnitude, a column differs by rounding alone.
FLAT = 1e-13


def exponent_of(x: NDArray[np.float64]) -> int:
    """The power of two just above the largest magnitude; 0 for a column of zeros.

    >>> exponent_of(np.array([3.0, -5.0]))
    3
    """
    return int(np.frexp(np.max(np.abs(x)))[1]) if len(x) else 0


def shrink(x: NDArray[np.float64], exponent: int) -> NDArray[np.float64]:
    """Divide by 2**exponent, exact unless it leaves the range of a float."""
    with np.errstate(over="ignore"):
        return np.ldexp(x, -exponent)


def centre_and_spread(x: NDArray[np.float64], weights: NDArray[np.float64]) -> tuple[float, float]:
    """Weighted mean and sd of values of magnitude at most 1; a weight of 2 equals the row twice.

    >>> centre_and_spread(np.array([0.0, 1.0]), np.array([1.0, 1.0]))
    (0.5, 0.5)
    """
    return centres_and_spreads(x[None], weights)[0]


def centres_and_spreads(
    columns: NDArray[np.float64], weights: NDArray[np.float64]
) -> list[tuple[float, float]]:
    """The same of many columns (k, n), each by itself."""
    w = shrink(weights, exponent_of(weights))
    total = _sums(w[None])[0]
    centres = [value / total for value in _sums(w * columns)]
    off = columns - np.array(centres)[:, None]
    exponents = np.frexp(np.abs(off).max(axis=1))[1]
    squares = _sums(w * np.ldexp(off, -exponents[:, None]) ** 2)
    spreads = [
        math.ldexp(math.sqrt(value / total), int(exponent))
        for value, exponent in zip(squares, exponents, strict=True)
    ]
    return list(zip(centres, spreads, strict=True))


def weighted_median(x: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """The median of rows repeated `weights` times.

    >>> weighted_median(np.array([1.0, 2.0, 5.0]), np.array([1.0, 1.0, 2.0]))
    3.5
    """
    order = np.argsort(x, kind="stable")
    reached = np.cumsum(weights[order])
    half = reached[-1] / 2
    low = int(np.searchsorted(reached, half, side="left"))
    high = int(np.searchsorted(reached, half, side="right"))
    ordered = x[order]
    return float((ordered[low] + ordered[min(high, len(x) - 1)]) / 2)


def varies(x: NDArray[np.float64]) -> bool:
    """Whether the values differ by more than rounding.

    >>> varies(np.array([0.3, 0.1 + 0.2])), varies(np.array([1e-300, 2e-300]))
    (False, True)
    """
    if len(x) == 0:
        return False
    low, high = float(x.min()), float(x.max())
    exponent = math.frexp(max(-low, high))[1]
    return math.ldexp(high, -exponent) - math.ldexp(low, -exponent) > FLAT


def outlying(x: NDArray[np.float64], ranges: float) -> NDArray[np.bool_]:
    """Which values (n,), at most 1 in magnitude or NaN, are so many interquartile ranges off the median.

    >>> outlying(np.array([1.0, 2e-9, 3e-9, 4e-9, 5e-9, np.nan]), 1e6).tolist()
    [True, False, False, False, False, False]
    """
    seen, none = x[np.isfinite(x)], np.zeros(len(x), dtype=bool)
    if not len(seen):
        return none
    # Two values within the quartiles, found in a tenth of the time: no two values are more than 2 apart.
    inner = -(-(len(seen) - 1) // 4), 3 * (len(seen) - 1) // 4
    parted = np.partition(seen, inner)
    if ranges * (parted[inner[1]] - parted[inner[0]]) >= 2.0:
        return none
    low, middle, high = np.quantile(seen, [0.25, 0.5, 0.75])
    return np.abs(x - middle) > ranges * (high - low) if high > low else none


def _sums(x: NDArray[np.float64]) -> list[float]:
    """The sum of each row, up to 2**30 values of magnitude at most 1, rounded to whole numbers of 2**-64."""
    high = np.rint(x * 2.0**32)
    low = np.rint((x - high / 2.0**32) * 2.0**64)
    parts = [part.astype(np.int64).sum(axis=1).tolist() for part in (high, low)]
    return [((large << 32) + small) / 2**64 for large, small in zip(*parts, strict=True)]
