"""Means and totals of the truth with validated rows: prediction-powered inference (PPI++) under a design.

    mean = lam * mean_all(f) + weighted mean over validated rows of (truth - lam * f)

f are answers for all rows, out of fold where a row was validated, so that their errors there are like those
elsewhere. A validated row stands for w / pi rows: its weight over the probability that the audit chose it.
Valid however poor f is; lam is how far f is trusted.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from proxycal.effect.row_truth import RowTruth
from proxycal.errors import ProxycalWarning, TableError
from proxycal.tails import t_ppf

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.effect.totals import TotalSums

    Array = NDArray[np.float64]

# A group with fewer validated rows has no interval of its own.
LEAST_ROWS = 10
# Probabilities that differ by less are one stratum; an audit of more strata than this is taken as one of
# unequal probabilities without strata.
MOST_STRATA = 50


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """A mean with its standard error and interval; n validated rows, and how far f was trusted (lam).

    note : what a reader should know, such as why there is no interval.
    """

    mean: float
    se: float
    low: float
    high: float
    n: int
    lam: float
    note: str = ""


def design_mean(
    truth: Array,
    predicted: Array,
    weights: Array | None = None,
    inclusion: Array | None = None,
    level: float = 0.95,
    lam: float | None = None,
) -> MeanEstimate:
    """Mean of the truth over these N rows.

    truth : (N,), NaN where not validated. predicted : (N,) answers, out of fold where validated.
    weights : (N,) how much each row counts. inclusion : (N,) probability that the audit would choose the row,
    read where validated; None for a simple random choice among these rows. lam : None for the one of least
    variance.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(10.0, 3.0, size=2000)
    >>> shown = np.where(np.arange(2000) < 200, truth, np.nan)
    >>> powered = design_mean(shown, truth + rng.normal(size=2000))
    >>> alone = design_mean(shown, np.zeros(2000))
    >>> bool(powered.low < truth.mean() < powered.high), powered.se < 0.4 * alone.se
    (True, True)
    """
    known = np.isfinite(truth)
    n, w = int(known.sum()), np.ones(len(truth)) if weights is None else weights
    if n < 2:
        raise TableError(
            f"a mean from validated rows needs at least 2 of them, and there are {n} here: validate more rows"
        )
    pi = _probabilities(known, inclusion)
    y, f, d = truth[known], predicted[known], w[known] / pi
    trust = _trust(y, f, d) if lam is None else lam
    left = y - trust * f
    total = float(d.sum())
    offset = float(d @ left) / total
    mean = trust * float(np.average(predicted, weights=w)) + offset
    se = math.sqrt(_variance(d * (left - offset), pi)) / total
    half = float(t_ppf(0.5 + level / 2.0, n - 1)) * se
    return MeanEstimate(mean, se, mean - half, mean + half, n, trust)


def group_mean(
    truth: Array,
    predicted: Array,
    inside: NDArray[np.bool_],
    weights: Array | None = None,
    inclusion: Array | None = None,
    level: float = 0.95,
) -> MeanEstimate:
    """The mean over a group of the rows (inside, (N,)), from the validated rows of that group.

    With fewer than 10 of them it is the mean answer corrected as in the whole table, without an interval, and
    its note says so.
    """
    known = np.isfinite(truth)
    w = np.ones(len(truth)) if weights is None else weights
    pi = np.full(len(truth), np.nan)
    pi[known] = _probabilities(known, inclusion)
    n = int((known & inside).sum())
    if n >= LEAST_ROWS:
        # Among the rows of a group an audit of the table was random with the same probabilities.
        return design_mean(truth[inside], predicted[inside], w[inside], pi[inside], level)
    d = w[known] / pi[known]
    offset = float(np.average(truth[known] - predicted[known], weights=d))
    mean = float(np.average(predicted[inside], weights=w[inside])) + offset
    note = (
        f"too few validated rows for an interval: {n}, at least {LEAST_ROWS} are needed; the correction is "
        "that of all rows"
    )
    return MeanEstimate(mean, math.nan, math.nan, math.nan, n, 1.0, note)


@dataclass(frozen=True, slots=True)
class Design:
    """What a fit keeps of its audit, so that totals of any table can be added up piece by piece.

    inclusion : share of the fitted rows that were validated, the probability of a row without one of its own.
    lam : how far answers are trusted. offset, se : mean of truth - lam * answer over the table, from n
    validated rows out of fold.
    """

    inclusion: float
    lam: float
    offset: float
    se: float
    n: float

    def row_truth(self, value: Array, truth: Array, inclusion: Array | None) -> RowTruth:
        """What is added up of rows with answers `value`, out of fold where the truth is known."""
        known = np.isfinite(truth)
        pi = np.full(len(value), self.inclusion) if inclusion is None else inclusion
        pi = np.where(known & np.isfinite(pi), pi, 1.0)
        left = np.where(known, truth - self.lam * value, 0.0)
        stands = known / pi
        # Its design variance, from how far it lies from the mean correction.
        variance = known * (1.0 - pi) * ((left - self.offset) / pi) ** 2
        extra = np.column_stack([stands, stands * left, known])
        return RowTruth(self.lam * value, variance, np.zeros((len(value), 0)), extra=extra)

    def finish(self, sums: TotalSums) -> tuple[Array, Array]:
        """Totals (G,) and their variances (G,).

        Groups add up to the whole, which is known best: what their own corrections leave over is shared among
        them by their variances, the change of least weight (benchmarking of small-area estimates).
        A group with too few validated rows is corrected as the whole table is; if it has some, so that its
        own correction could be asked for, its variance is NaN and a warning says so.
        """
        stands, left, known = sums.extra.T
        # Weights of any unit: how many validated rows there are of average weight.
        count = np.divide(known * sums.rows, sums.weight, out=np.zeros_like(known), where=sums.weight > 0.0)
        own = count >= LEAST_ROWS - 1e-9
        times = np.divide(sums.weight, stands, out=np.zeros_like(stands), where=own)
        degrees = np.maximum(count - 1.0, 1.0)
        # The interval is normal further on: what Student's t adds is put into the variance.
        wider = (t_ppf(0.975, degrees) / ndtri(0.975)) ** 2 * (count / degrees)
        calibrated = sums.calibrated + np.where(own, times * left, sums.weight * self.offset)
        variance = np.where(own, times**2 * sums.variance * wider, (sums.weight * self.se) ** 2)
        calibrated = _adding_up(calibrated, variance)
        few = ~own & (stands[-1] > 0.0)
        if few.any():
            variance = np.where(few, np.nan, variance)
            warnings.warn(
                _too_few([sums.labels[i] for i in np.flatnonzero(few)]), ProxycalWarning, stacklevel=2
            )
        return calibrated, variance


def _adding_up(calibrated: Array, variance: Array) -> Array:
    """Totals (G,) of groups that sum to the last of them, all rows; where nothing is in doubt as they are.

    >>> _adding_up(np.array([4.0, 5.0, 12.0]), np.array([1.0, 2.0, 2.5])).tolist()
    [5.0, 7.0, 12.0]
    """
    groups, spread = calibrated[:-1], variance[:-1]
    if not len(groups) or not spread.sum() > 0.0:
        return calibrated
    left = float(calibrated[-1] - groups.sum())
    return np.append(groups + left * spread / spread.sum(), calibrated[-1])


def design_of(truth: Array, predicted: Array, w: Array, pi: Array, share: float) -> Design:
    """The design of n validated rows: truth, answers out of fold, weights and probabilities, (n,) each.

    share : of the fitted rows that were validated.
    """
    d = w / pi
    lam = _trust(truth, predicted, d)
    left = truth - lam * predicted
    offset = float(np.average(left, weights=d))
    se = math.sqrt(_variance(d * (left - offset), np.zeros(len(d)))) / float(d.sum())
    return Design(share, lam, offset, se, float(len(truth)))


def _too_few(labels: list[object]) -> str:
    named = ", ".join(repr(label) for label in labels[:3]) + (" and others" if len(labels) > 3 else "")
    return (
        f"{len(labels)} of the totals ({named}) rest on fewer than {LEAST_ROWS} validated rows of their "
        "own: they are corrected like the whole table, and low and high are missing; validate more rows there"
    )


def _probabilities(known: NDArray[np.bool_], inclusion: Array | None) -> Array:
    """Probability (n,) of each validated row: as given, or the same for all."""
    if inclusion is None:
        return np.full(int(known.sum()), known.mean())
    return np.asarray(inclusion[known])


def _trust(y: Array, f: Array, d: Array) -> float:
    """The lam of least variance: the slope of truth on answer, between 0 (ignore them) and 1."""
    centred = f - float(np.average(f, weights=d))
    spread = float(d @ centred**2)
    return float(np.clip(float(d @ (centred * y)) / spread, 0.0, 1.0)) if spread > 0.0 else 0.0


def _variance(part: Array, pi: Array) -> float:
    """Design variance of a sum of parts (n,); a stratum is the rows of one probability."""
    values, stratum = np.unique(np.round(pi, 9), return_inverse=True)
    if len(values) > MOST_STRATA:
        stratum = np.zeros(len(pi), dtype=int)
    counts = np.bincount(stratum)
    if (counts[values < 1.0] < 2).any() if len(values) <= MOST_STRATA else False:
        # A stratum of one row shows no spread: it is judged with the others.
        stratum = np.where(pi < 1.0, 0, 1)
        stratum = np.unique(stratum, return_inverse=True)[1]
        counts = np.bincount(stratum)
    centre = np.bincount(stratum, weights=part) / counts
    spread = np.bincount(stratum, weights=(1.0 - pi) * (part - centre[stratum]) ** 2)
    return float(np.sum(spread * counts / np.maximum(counts - 1, 1)))
