"""Single numbers of the evidence, each a function of rows and a fitted model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.least_squares import least_squares
from proxycal.mixture.thresholds import THRESHOLDS
from proxycal.tails import chi2_sf, f_sf

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# What the outcome says of who is biased, in rows of which it says all: less is rounding.
NOTHING_SAID = 1e-9


def relevance_of(y: Array, P: Array, E: Array, weights: Array) -> float:
    """Partial R2 of the proxies P (n, p) given E (n, q) for y (n,); 0 where it may be an accident."""
    ones = np.column_stack([np.ones(len(y)), E])

    def left(X: Array) -> float:
        residual = y - X @ least_squares(X, y, weights)
        return float(weights @ residual**2)

    alone, both = left(ones), left(np.column_stack([ones, P]))
    n, k = float(weights.sum()), P.shape[1]
    rest = max(n - k - ones.shape[1], 1.0)
    p_value = f_sf((alone - both) / k / max(both / rest, 1e-300), k, rest)
    # k columns explain k/n by chance: what they explain must be no accident, and is counted beyond it.
    beyond = max(0.0, 1.0 - (both / rest) / max(alone / (rest + k), 1e-300))
    return beyond if p_value < THRESHOLDS.relevance_p else 0.0


def overlap_of(content: Array, p_biased: Array) -> float:
    """Share of the biased rows inside the bulk of the unbiased rows' content; NaN with one group only."""
    biased = p_biased > 0.5
    if not biased.any() or biased.all():
        return math.nan
    tail = THRESHOLDS.overlap_tail
    low, high = np.quantile(content[~biased], [tail, 1.0 - tail])
    inside = (content[biased] >= low) & (content[biased] <= high)
    return float(inside.mean())


def size_cv(size: Array, spread: Array, mass: Array) -> float:
    """Coefficient of variation of the bias over the biased: sizes, sds within and masses, (n,) each."""
    mean = float(np.average(size, weights=mass + 1e-300))
    square = float(np.average(spread**2 + (size - mean) ** 2, weights=mass + 1e-300))
    return math.sqrt(square) / max(mean, 1e-300)


def autocorrelation(residual: Array, y: Array) -> float:
    """Of neighbouring rows; 0 where the table is sorted by the outcome, whose order says nothing else."""
    steps = np.diff(y)
    if np.mean(steps >= 0.0) > 0.95 or np.mean(steps <= 0.0) > 0.95:
        return 0.0
    # Copies of one row, one after the other, are that row with a weight.
    residual = residual[np.r_[True, (steps != 0.0) | (np.diff(residual) != 0.0)]]
    left = residual - residual.mean()
    return float((left[1:] * left[:-1]).sum() / max(float((left**2).sum()), 1e-300))


def block_z(lead: Array, price: float, cluster: NDArray[np.intp] | None) -> float:
    """Vuong's z over blocks of neighbouring rows, or clusters: dependent rows are one vote.

    lead (n,) : of the log likelihood of each row; price : what evidence takes off their sum.
    """
    n = len(lead)
    blocks = np.arange(n) // max(round(np.sqrt(n)), 10) if cluster is None else cluster
    votes = np.bincount(blocks, lead - price / n)
    sd = float(np.sqrt(len(votes)) * votes.std())
    return float(votes.sum() / max(sd, 1e-300))


def proxies_p(left: Array, P: Array, scores: Array) -> float:
    """Score test of the proxies P (n, p) in who is biased, beside what is in the model already.

    left (n,) : what the outcome says of who is biased, P(A|y) - P(A). scores (n, k) : of the coefficients,
    which the proxies' own scores are freed of.
    """
    if left @ left < NOTHING_SAID:
        return 1.0
    standard = (P - P.mean(axis=0)) / np.maximum(P.std(axis=0), 1e-12)
    of_proxies = left[:, None] * standard
    free = of_proxies - scores @ least_squares(scores, of_proxies)
    total = free.sum(axis=0)
    values, vectors = np.linalg.eigh(free.T @ free)
    # What is left of a proxy that E and content determine is rounding.
    keep = values > 1e-6 * float((of_proxies**2).sum())
    if not keep.any():
        return 1.0
    statistic = float((((vectors[:, keep].T @ total) ** 2) / values[keep]).sum())
    return float(chi2_sf(statistic, int(keep.sum())))
