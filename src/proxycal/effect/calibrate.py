"""The calibrated outcome: the bias taken out softly, by how likely each row carries it.

Given the data, the true outcome of a row is a mixture of two cases,

    not biased, with 1 - p:  y_obs + N(0, sigma^2)
    biased,     with     p:  y_obs - s*alpha + N(0, se^2 + sigma^2)        s = +1 over, -1 under

and y_cal = y_obs - s*alpha*p is its mean. A label instead of p would make half of the doubtful rows worse.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from proxycal.errors import SettingsError, TableError

# Each halving gains one bit: to 1e-13 of the bracket.
HALVINGS = 45
# Rows per block: the halving works on a handful of arrays of this length that stay in cache.
CHUNK = 50_000


@dataclass(frozen=True, slots=True)
class Calibrated:
    """The calibrated outcome of n rows.

    y_cal : (n,) mean of the true outcome given the data
    low, high : (n,) pointwise interval, low <= y_cal <= high. It covers the doubt about who is biased, the
        error of alpha, and the measurement noise sigma where that is given; not the error of p_biased itself
    shift : (n,) signed, y_cal = y_obs - shift
    """

    y_cal: np.ndarray
    low: np.ndarray
    high: np.ndarray
    shift: np.ndarray


def calibrate(
    y_obs: np.ndarray,
    p_biased: np.ndarray,
    alpha: float | np.ndarray,
    se_alpha: float | np.ndarray = 0.0,
    sigma: float | np.ndarray = 0.0,
    direction: str = "over",
    level: float = 0.95,
) -> Calibrated:
    """Take the bias out of y_obs (n,), given P(A=1) p_biased (n,).

    alpha, se_alpha and sigma are numbers or (n,), for effects that vary from row to row.

    >>> done = calibrate(np.array([5.0, 5.0, 5.0]), np.array([0.0, 0.5, 1.0]), alpha=2.0, se_alpha=0.1)
    >>> done.y_cal.tolist()
    [5.0, 4.0, 3.0]
    >>> done.low.round(2).tolist(), done.high.round(2).tolist()
    ([5.0, 2.84, 2.8], [5.0, 5.0, 3.2])
    """
    if direction not in ("over", "under"):
        raise SettingsError(f"direction={direction!r} is not known: use 'over' or 'under'.")
    if not 0.0 < level < 1.0:
        raise SettingsError(f"level={level!r}: use a number between 0 and 1, such as 0.95.")
    y = np.asarray(y_obs, dtype=float)
    p, size = _column("p_biased", p_biased, y), _column("alpha", alpha, y)
    se, noise = _column("se_alpha", se_alpha, y), _column("sigma", sigma, y)
    if not (np.isfinite(y).all() and ((p >= 0) & (p <= 1)).all()):
        raise TableError("calibrating needs a finite outcome and p_biased between 0 and 1 in every row.")
    if (se < 0).any() or (noise < 0).any():
        raise SettingsError("se_alpha and sigma are standard deviations: use 0 or more.")

    sign = 1.0 if direction == "over" else -1.0
    shift = sign * size * p
    y_cal = y - shift
    tail = (1.0 - level) / 2
    spread = np.hypot(se, noise)
    low, high = (_quantiles(q, p, -sign * size, spread, noise) for q in (tail, 1.0 - tail))
    # A central interval of a lopsided mixture can leave its own mean out (p = 0.01: both ends are y_obs);
    # widening to the mean only adds coverage.
    return Calibrated(y_cal, np.minimum(y + low, y_cal), np.maximum(y + high, y_cal), shift)


def _quantiles(
    q: float, p: np.ndarray, centre: np.ndarray, spread: np.ndarray, noise: np.ndarray
) -> np.ndarray:
    """Quantile q of (1-p) N(0, noise^2) + p N(centre, spread^2), row by row."""
    found = np.empty_like(p)
    for start in range(0, len(p), CHUNK):
        rows = slice(start, start + CHUNK)
        found[rows] = _halve(q, p[rows], centre[rows], spread[rows], noise[rows])
    return found


def _halve(q: float, p: np.ndarray, centre: np.ndarray, spread: np.ndarray, noise: np.ndarray) -> np.ndarray:
    # The quantile of a mixture lies between those of its parts, and no level below 1 asks for more than ten
    # standard deviations. A part of no width is a step; halving finds the jump.
    low = np.minimum(-10 * noise, centre - 10 * spread)
    high = np.maximum(10 * noise, centre + 10 * spread)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        below = (1 - p) * _normal(middle, noise) + p * _normal(middle - centre, spread) < q
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    # The upper end is the one at which the distribution function has reached q.
    return high


def _normal(x: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """P(N(0, sd^2) <= x), a step at 0 where sd is 0."""
    flat = sd <= 0
    return np.where(flat, x >= 0, ndtr(x / np.where(flat, 1.0, sd)))


def _column(name: str, value: float | np.ndarray, y: np.ndarray) -> np.ndarray:
    column = np.asarray(value, dtype=float)
    if column.ndim > 1 or (column.ndim == 1 and column.shape != y.shape) or y.ndim != 1:
        raise TableError(f"{name} has shape {column.shape}: give one number, or one per row ({y.shape}).")
    if not np.isfinite(column).all():
        raise SettingsError(f"{name} is not finite: without an estimate there is nothing to calibrate by.")
    return np.broadcast_to(column, y.shape)
