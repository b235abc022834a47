"""The calibrated outcome: the bias taken out softly, by how likely each row carries it.

Given the data, the true outcome of a row is a mixture of two cases,

    not biased, with 1 - p:  y_obs
    biased,     with     p:  y_obs - s*alpha + N(0, se^2)        s = +1 over, -1 under

and y_cal = y_obs - s*alpha*p is its mean. A label instead of p would make half of the doubtful rows worse.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from proxycal.errors import SettingsError, TableError


@dataclass(frozen=True, slots=True)
class Calibrated:
    """The calibrated outcome of n rows.

    y_cal : (n,) mean of the true outcome given the data
    low, high : (n,) pointwise interval, low <= y_cal <= high. It covers the doubt about who is biased
        and the error of alpha; not the error of p_biased itself
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
    direction: str = "over",
    level: float = 0.95,
) -> Calibrated:
    """Take the bias out of y_obs (n,), given P(A=1) p_biased (n,).

    alpha and se_alpha are numbers or (n,), for effects that vary from row to row.

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
    se = _column("se_alpha", se_alpha, y)
    if not (np.isfinite(y).all() and ((p >= 0) & (p <= 1)).all()):
        raise TableError("calibrating needs a finite outcome and p_biased between 0 and 1 in every row.")
    if (se < 0).any():
        raise SettingsError("se_alpha is a standard deviation: use 0 or more.")

    sign = 1.0 if direction == "over" else -1.0
    shift = sign * size * p
    y_cal = y - shift
    tail = (1.0 - level) / 2
    low, high = _quantile(tail, p, -sign * size, se), -_quantile(tail, p, sign * size, se)
    # A central interval of a lopsided mixture can leave its own mean out (p = 0.01: both ends are y_obs);
    # widening to the mean only adds coverage.
    return Calibrated(y_cal, np.minimum(y + low, y_cal), np.maximum(y + high, y_cal), shift)


def _quantile(q: float, p: np.ndarray, centre: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """Quantile q of a point at 0 with 1 - p and N(centre, sd^2) with p, row by row.

    In the order of the line: the normal's part below 0, the point, and the normal's part above it.
    """
    no_width = sd == 0
    with np.errstate(over="ignore"):  # a vanishing sd or p divides to infinity, rightly
        below = p * np.where(no_width, centre < 0, ndtr(-centre / np.where(no_width, 1.0, sd)))
        beyond = below + (1.0 - p)
        within = np.where(q <= below, q, q - (1.0 - p)) / np.where(p > 0, p, 1.0)
    # What rounding makes of a share of 0 or 1 must not be infinite: 0 times infinity is no number.
    found = centre + sd * ndtri(np.clip(within, 1e-300, 1.0 - 1e-16))
    return np.where(q <= below, np.minimum(found, 0.0), np.where(q <= beyond, 0.0, np.maximum(found, 0.0)))


def _column(name: str, value: float | np.ndarray, y: np.ndarray) -> np.ndarray:
    column = np.asarray(value, dtype=float)
    if column.ndim > 1 or (column.ndim == 1 and column.shape != y.shape) or y.ndim != 1:
        raise TableError(f"{name} has shape {column.shape}: give one number, or one per row ({y.shape}).")
    if not np.isfinite(column).all():
        raise SettingsError(f"{name} is not finite: without an estimate there is nothing to calibrate by.")
    return np.broadcast_to(column, y.shape)
