"""Densities of a report around its centre, and probabilities of the range that a coarse report stands for.

Each returns log, and its derivatives by the centre c and the variance v: (c, v), (cc, cv, vv).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from scipy.special import log_ndtr

LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, slots=True)
class Density:
    """Log (n,) of a density or probability, with its derivatives by centre and variance."""

    log: np.ndarray
    c: np.ndarray
    v: np.ndarray
    cc: np.ndarray
    cv: np.ndarray
    vv: np.ndarray


def of_point(y: np.ndarray, c: np.ndarray, v: np.ndarray) -> Density:
    """Log N(y; c, v)."""
    u = (y - c) / v
    square = u * u
    return Density(
        log=-0.5 * (square * v + np.log(v) + LOG_2PI),
        c=u,
        v=0.5 * (square - 1.0 / v),
        cc=-1.0 / v,
        cv=-u / v,
        vv=(0.5 / v - square) / v,
    )


def of_report(low: np.ndarray, high: np.ndarray, c: np.ndarray, v: np.ndarray) -> Density:
    """The range of each row, or the point where both ends are one."""
    exact = low == high
    if not exact.any():
        return of_range(low, high, c, v)
    # Any range will do where the point is taken.
    ranges = of_range(np.where(exact, -1.0, low), np.where(exact, 1.0, high), c, v)
    points = of_point(np.where(exact, low, 0.0), c, v)
    values = {
        item.name: np.where(exact, getattr(points, item.name), getattr(ranges, item.name))
        for item in fields(Density)
    }
    return Density(**values)


def of_range(low: np.ndarray, high: np.ndarray, c: np.ndarray, v: np.ndarray) -> Density:
    """Log P(low < N(c, v) < high); the ends may be infinite.

    With a, b the standardised ends and P the probability, dP/dc = -(f(b) - f(a)) / sd and so on; the ratios
    f / P are differences of logarithms, so that they hold far out.
    """
    sd = np.sqrt(v)
    a, b = (low - c) / sd, (high - c) / sd
    # Both tails as left ones, where the logarithm of the normal distribution is exact.
    turned = a > 0.0
    left, right = np.where(turned, -b, a), np.where(turned, -a, b)
    top = log_ndtr(right)
    log = top + np.log(-np.expm1(np.minimum(log_ndtr(left) - top, -1e-300)))
    fa, fb = _ratio(a, log), _ratio(b, log)
    # Differences of x^0 to x^3 times the ratio; an infinite end has none.
    a, b = (np.where(np.isfinite(end), end, 0.0) for end in (a, b))
    moments = [fb - fa]
    for _ in range(3):
        fa, fb = a * fa, b * fb
        moments.append(fb - fa)
    first_c, first_v = -moments[0] / sd, -0.5 * moments[1] / v
    return Density(
        log=log,
        c=first_c,
        v=first_v,
        cc=-moments[1] / v - first_c**2,
        cv=0.5 * (moments[0] - moments[2]) / (v * sd) - first_c * first_v,
        vv=(0.75 * moments[1] - 0.25 * moments[3]) / v**2 - first_v**2,
    )


def _ratio(x: np.ndarray, log: np.ndarray) -> np.ndarray:
    """The normal density at x over the probability of the range."""
    inside = np.isfinite(x)
    exponent = -0.5 * np.where(inside, x, 0.0) ** 2 - 0.5 * LOG_2PI - np.where(inside, log, 0.0)
    return np.where(inside, np.exp(np.minimum(exponent, 700.0)), 0.0)
