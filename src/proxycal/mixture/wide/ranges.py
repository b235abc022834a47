"""Outcomes known as ranges (rounded, capped, rated): the probability of a range under a normal cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from proxycal.mixture.laws import LOG_2PI

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# Below this probability an interval is so far from a cell that its middle stands for it.
FAR = 1e-250


def interval_density(
    y: Array, low: Array, high: Array, mean: Array, inv: Array
) -> tuple[Array, Array, Array]:
    """Log density of each cell, and its derivatives by the mean and by the log sd.

    The density is the probability of the range over its width. y, low, high (n,); mean, inv (cells, n): means
    and one over sds. Rows with low = high are exact, and those of a range far from a cell are taken at their
    value.
    """
    bounded = np.isfinite(low) & np.isfinite(high)
    exact = low == high
    log_width = np.log(np.where(bounded & ~exact, high - low, 1.0))
    a, b = (np.minimum(np.maximum((end - mean) * inv, -30.0), 30.0) for end in (low, high))
    # In the upper tail the difference of two numbers near 1 is lost: there it is taken from the other side.
    upper = a + b > 0.0
    p = ndtr(np.where(upper, -a, b)) - ndtr(np.where(upper, -b, a))
    as_value = (p < FAR) | exact
    p = np.where(as_value, 1.0, p)
    at_a, at_b = np.exp(-0.5 * a * a - 0.5 * LOG_2PI), np.exp(-0.5 * b * b - 0.5 * LOG_2PI)
    density = np.log(p) - log_width
    by_mean, by_log_sd = (at_a - at_b) * inv / p, (a * at_a - b * at_b) / p
    if as_value.any():
        z = (y - mean) * inv
        density = np.where(as_value, -0.5 * z * z + np.log(inv) - 0.5 * LOG_2PI, density)
        by_mean, by_log_sd = np.where(as_value, z * inv, by_mean), np.where(as_value, z * z - 1.0, by_log_sd)
    return density, by_mean, by_log_sd
