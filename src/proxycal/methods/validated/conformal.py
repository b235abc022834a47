"""Intervals of single rows by cross-conformal prediction, scaled by how unsure the model is of a row.

    score_i = |truth_i - answer out of fold_i| / (sd_i + floor)
    half-width_j = quantile(score) * (sd_j + floor)

Where validated rows are exchangeable with the others, an interval holds the truth with about the stated
probability whatever the errors look like; design weights stand in for exchangeability where the audit chose
some rows more often than others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# The floor, as a share of the median sd: no row is taken to be sure.
FLOOR_SHARE = 0.1


def conformal_quantile(scores: Array, weights: Array, level: float) -> float:
    """The score that a new row stays below with probability `level`; the largest where rows are too few.

    A new row has itself a share of the weight, of an average row: with equal weights this is the score of
    rank ceil(level * (n + 1)).

    >>> conformal_quantile(np.arange(1.0, 100.0), np.ones(99), 0.95)
    95.0
    """
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(weights[order]) / (weights.sum() + weights.mean())
    # A rank that rounding puts just below the level is meant.
    place = int(np.searchsorted(reached, level - 1e-12))
    return float(scores[order[min(place, len(scores) - 1)]])


def spread_power(error: Array, scale: Array, w: Array) -> float:
    """The power of the scale (n,) that the spread of errors (n,) follows best, from 0 (not at all) to 1.

    By the likelihood of normal errors with sd c * scale^power. A model that is wrong about where it is unsure
    is believed less.

    >>> rng = np.random.default_rng(0)
    >>> scale = np.exp(rng.normal(size=2000))
    >>> spread_power(scale * rng.normal(size=2000), scale, np.ones(2000)) > 0.9
    True
    >>> spread_power(rng.normal(size=2000), scale, np.ones(2000)) < 0.1
    True
    """
    share, log_scale = w / w.sum(), np.log(scale)
    powers = np.linspace(0.0, 1.0, 21)
    lost = []
    for power in powers:
        variance = float(share @ (error / scale**power) ** 2)
        lost.append(0.5 * np.log(max(variance, 1e-300)) + power * float(share @ log_scale))
    return float(powers[int(np.argmin(lost))])
