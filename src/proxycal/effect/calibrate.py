"""The calibrated outcome: the bias taken out softly, by how likely each row carries it.

Given the data, the true outcome of a row is a mixture of two cases,

    not biased, with 1 - p:  y_obs
    biased,     with     p:  y_obs - s*alpha + N(0, se^2)        s = +1 over, -1 under

and y_cal = y_obs - s*alpha*p is its mean. A label instead of p would make half of the doubtful rows worse.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from proxycal.errors import SettingsError, TableError
from proxycal.result import Prediction
from proxycal.settings import sign as sign_of

if TYPE_CHECKING:
    from proxycal.methods.registry import MethodFit
    from proxycal.table.encode import Arrays

# Rows that are answered at a time. A table may be cut at any multiple of it without changing a digit.
BLOCK = 2048


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
    return _calibrated(y_obs, p_biased, alpha, se_alpha, sign_of(direction), level)


def _calibrated(
    y_obs: np.ndarray,
    p_biased: np.ndarray,
    alpha: float | np.ndarray,
    se_alpha: float | np.ndarray,
    sign: float,
    level: float,
) -> Calibrated:
    if not 0.0 < level < 1.0:
        raise SettingsError(f"level={level!r}: use a number between 0 and 1, such as 0.95.")
    y = np.asarray(y_obs, dtype=float)
    p, size = _column("p_biased", p_biased, y), _column("alpha", alpha, y)
    se = _column("se_alpha", se_alpha, y)
    if not (np.isfinite(y).all() and ((p >= 0) & (p <= 1)).all()):
        raise TableError("calibrating needs a finite outcome and p_biased between 0 and 1 in every row.")
    if (se < 0).any():
        raise SettingsError("se_alpha is a standard deviation: use 0 or more.")

    shift = sign * size * p
    y_cal = y - shift
    tail = (1.0 - level) / 2
    low, high = _quantile(tail, p, -sign * size, se), -_quantile(tail, p, sign * size, se)
    # A central interval of a lopsided mixture can leave its own mean out (p = 0.01: both ends are y_obs);
    # widening to the mean only adds coverage.
    return Calibrated(y_cal, np.minimum(y + low, y_cal), np.maximum(y + high, y_cal), shift)


def calibrate_turned(
    sign: float,
    y: np.ndarray,
    p_biased: np.ndarray,
    size: float | np.ndarray,
    se: float | np.ndarray,
    level: float,
    *,
    mu: np.ndarray,
    z: np.ndarray,
    a: np.ndarray,
) -> Prediction:
    """The answer for rows whose outcome was multiplied by `sign`, so that the bias is upward.

    y, p_biased, size, se : as in `calibrate`. mu : (n,), turned like y. z, a : kept as they are.
    """
    done = _calibrated(y, p_biased, size, se, 1.0, level)
    low, high = (done.low, done.high) if sign > 0 else (-done.high, -done.low)
    return Prediction(
        y_cal=sign * done.y_cal,
        y_cal_low=low,
        y_cal_high=high,
        p_biased=p_biased,
        shift=sign * done.shift,
        mu=sign * mu,
        z=z,
        a=a,
    )


def predict(fitted: MethodFit, arrays: Arrays, rows: np.ndarray | None = None) -> Prediction:
    """The answer of a fit for rows that have their outcome, or for some of them, by position.

    Without a finding, and in trusted rows, what was reported stands; where the truth of a row is known, it
    is the answer.
    """
    assert arrays.y is not None  # calibration asks for it
    predicted = _in_blocks(fitted, arrays, rows)
    y = arrays.y if rows is None else arrays.y[rows]
    if fitted.verdict != "bias found" and not fitted.details.by_validation:
        # Data that were right must not be made worse; how far from the truth they are, nobody knows.
        unknown = np.full_like(y, np.nan)
        predicted = replace(predicted, y_cal=y, y_cal_low=unknown, y_cal_high=unknown, shift=np.zeros_like(y))
    if arrays.trusted is not None:
        predicted = as_reported(predicted, y, arrays.trusted if rows is None else arrays.trusted[rows])
    if arrays.truth is None:
        return predicted
    truth = arrays.truth if rows is None else arrays.truth[rows]
    return with_truth(predicted, y, truth)


def with_truth(predicted: Prediction, y: np.ndarray, truth: np.ndarray) -> Prediction:
    """The answer with the truth (n,) in place of a calibrated value, without width, where it is not NaN."""
    known = np.isfinite(truth)
    if not known.any():
        return predicted
    return replace(
        predicted,
        y_cal=np.where(known, truth, predicted.y_cal),
        y_cal_low=np.where(known, truth, predicted.y_cal_low),
        y_cal_high=np.where(known, truth, predicted.y_cal_high),
        shift=np.where(known, y - truth, predicted.shift),
    )


def as_reported(predicted: Prediction, y: np.ndarray, trusted: np.ndarray) -> Prediction:
    """The answer with the report y (n,) as it is, without width, in trusted rows: no bias is in it."""
    none = np.zeros_like(y)
    return replace(
        predicted,
        y_cal=np.where(trusted, y, predicted.y_cal),
        y_cal_low=np.where(trusted, y, predicted.y_cal_low),
        y_cal_high=np.where(trusted, y, predicted.y_cal_high),
        p_biased=np.where(trusted, none, predicted.p_biased),
        shift=np.where(trusted, none, predicted.shift),
    )


def _in_blocks(fitted: MethodFit, arrays: Arrays, chosen: np.ndarray | None) -> Prediction:
    """The fit's answer, as many rows at a time whatever the table.

    The last digit of a product of matrices depends on their shapes. So every block has the same shape, the
    last one filled up with a row that is thrown away, and the answer for a row is the same in a whole table
    and in a piece of it. Memory stays that of one block, beside the answers.
    """
    places = np.flatnonzero(arrays.kept) if chosen is None else np.arange(len(chosen))
    chosen = np.arange(len(places)) if chosen is None else chosen
    first = np.unique(places // BLOCK, return_index=True)[1]
    blocks = []
    for rows in np.split(chosen, first[1:]):
        full = np.append(rows, np.full(BLOCK - len(rows), rows[-1]))
        block = fitted.predict(arrays.take(full))
        blocks.append({part.name: getattr(block, part.name)[: len(rows)] for part in fields(block)})
    return Prediction(**{name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]})


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
