"""How far other rows lie from the fitted ones, and their reports: how much wider an interval must be.

    w(x) = p(x | other rows) / p(x | fitted rows)       by a logistic regression of which set a row is in
    rows like these = (sum w)^2 / sum w^2               fitted rows of even weight that know as much
    moved(x) = E[y | x, other rows] - E[y | x, fitted rows]           y : reports, calibrated by the fit

Where the law of the columns is another, the fit rests on the fitted rows that are like the other ones: its
errors grow by n / rows like these. Where calibrated reports are others, given the columns, either the truth
is or the bias is, and the reports alone do not say which: the truth may lie off by as much.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import KDTree

from proxycal.drift.bias import log_odds_of, with_squares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# A row is outside where its nearest fitted rows, so many of them, lie this many times further away than those
# of the most lonely fitted row, or where a column is beyond the fitted ones by this share of their range.
NEAREST, LONELY, BEYOND = 5, 1.25, 0.1
# Rows for each column from which reports are compared place by place, and not on average.
ROWS_PER_COLUMN = 10


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows of one set: encoded columns x (n, k), reports y (n,), calibrated or not, weights (n,)."""

    x: Floats
    y: Floats
    weights: Floats


@dataclass(frozen=True, slots=True)
class Overlap:
    """Other rows (m) beside fitted ones (n).

    outside : (m,) rows that no fitted row is near. column : (m,) position of the column that lies furthest
    beyond, -1 where only all columns together do. rows : fitted rows like the others, of even weight. ratio :
    (n,) how much more frequent rows like each fitted one are among the others.
    """

    outside: NDArray[np.bool_]
    column: NDArray[np.intp]
    rows: float
    ratio: Floats


@dataclass(frozen=True, slots=True)
class ReportShift:
    """By how much the reports of other rows lie elsewhere, given their columns.

    at, se : (m,) for each row, and its standard error. mean, mean_se : on average.
    """

    at: Floats
    se: Floats
    mean: float
    mean_se: float


def overlap(old: Sample, new: Sample) -> Overlap:
    """How far the columns of other rows lie from those of the fitted ones."""
    low, high = old.x.min(axis=0), old.x.max(axis=0)
    beyond = np.maximum(low - new.x, new.x - high) / np.maximum(high - low, 1e-12)
    column = np.where(beyond.max(axis=1) > BEYOND, beyond.argmax(axis=1), -1)
    turned = [part.x @ _whitening(old.x) for part in (old, new)]
    tree = KDTree(turned[0])
    k = min(NEAREST, len(old.x) - 1)
    own, far = (np.asarray(tree.query(x, [j])[0])[:, 0] for x, j in zip(turned, (k + 1, k), strict=True))
    outside = (column >= 0) | (far > LONELY * own.max())
    if outside.all():
        return Overlap(outside, column, 0.0, np.zeros(len(old.x)))
    inside = ~outside
    both = np.vstack([old.x, new.x[inside]])
    # Sets of even mass, so that the odds are the ratio; as many rows as the smaller set know as much.
    sizes = [part.sum() for part in (old.weights, new.weights[inside])]
    mass = np.concatenate([old.weights / sizes[0], new.weights[inside] / sizes[1]])
    least = min(len(old.x), int(inside.sum()))
    is_new = np.repeat([0.0, 1.0], [len(old.x), int(inside.sum())])
    slopes = log_odds_of(both, is_new, least * mass, pull=2.0 / least)
    logs = with_squares(old.x) @ slopes
    ratio = np.exp(np.clip(logs - logs.max(), -50.0, 0.0))
    known = old.weights * ratio
    ratio = ratio * old.weights.sum() / known.sum()
    return Overlap(outside, column, float(known.sum() ** 2 / (known**2).sum()), ratio)


def report_shift(old: Sample, new: Sample, ratio: Floats) -> ReportShift:
    """Reports of other rows less what fitted rows like them say, given the columns; ratio : of `overlap`."""
    basis = with_squares(old.x), with_squares(new.x)
    then = _regression(basis[0], old.y, old.weights * ratio)
    off = new.y - basis[1] @ then.slopes
    mean = float(np.average(off, weights=new.weights))
    middle = np.average(basis[1], axis=0, weights=new.weights)
    shares = new.weights / new.weights.sum()
    # The spread of a few rows is not known: that of the fitted ones is, too.
    spread = max(float(shares @ (off - mean) ** 2), then.variance)
    mean_se = float(np.sqrt(spread * (shares**2).sum() + middle @ then.cov @ middle))
    if len(new.y) < ROWS_PER_COLUMN * basis[1].shape[1]:
        return ReportShift(np.full(len(new.y), mean), np.full(len(new.y), mean_se), mean, mean_se)
    now = _regression(basis[1], new.y, new.weights)
    variance = (basis[1] @ (then.cov + now.cov) * basis[1]).sum(axis=1)
    return ReportShift(basis[1] @ (now.slopes - then.slopes), np.sqrt(variance), mean, mean_se)


@dataclass(frozen=True, slots=True)
class _Regression:
    """slopes (k,), their covariance for rows of unequal spread (k, k), and the variance of what is left."""

    slopes: Floats
    cov: Floats
    variance: float


def _regression(x: Floats, y: Floats, weights: Floats) -> _Regression:
    # Columns that say the same (0/1 columns and their squares) share what they say.
    gram = (x * weights[:, None]).T @ x
    inverse = np.linalg.pinv(gram, rcond=1e-9, hermitian=True)
    slopes = inverse @ (x.T @ (weights * y))
    left = y - x @ slopes
    leverage = np.minimum((x @ inverse * x).sum(axis=1) * weights, 0.9)
    scores = x * (weights * left / (1.0 - leverage))[:, None]
    variance = float(np.average(left**2, weights=weights))
    return _Regression(slopes, inverse @ (scores.T @ scores) @ inverse, variance)


def _whitening(x: Floats) -> Floats:
    """What columns (n, k) are multiplied by to be of variance one and uncorrelated; even ones to nothing."""
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(x, rowvar=False)))
    kept = values > 1e-9 * values.max()
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))
