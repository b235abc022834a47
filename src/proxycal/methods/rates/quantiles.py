"""Quantiles of what a report missed: nothing with 1 - p, else a negative binomial number."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, gammainc


def missed_quantile(q: float, p: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Smallest whole number (n,) that what is missed does not exceed with probability q.

    p : (n,) probability that anything can be missed; mean, variance : (n,) of how much is then.

    >>> missed_quantile(0.5, np.array([0.1, 1.0]), np.array([8.0, 8.0]), np.array([12.0, 12.0])).tolist()
    [0.0, 8.0]
    """
    wanted = (q - (1.0 - p)) / np.where(p > 0.0, p, 1.0)
    out = np.zeros(len(p))
    doubtful = (wanted > 0.0) & (mean > 0.0)
    if doubtful.any():
        out[doubtful] = _quantile(wanted[doubtful], mean[doubtful], variance[doubtful])
    return out


def _quantile(q: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """By bisection between whole numbers."""
    low = np.full(len(q), -1.0)
    high = np.ceil(mean + 12.0 * np.sqrt(variance) + 12.0)
    while (high - low > 1.0).any():
        middle = np.floor(0.5 * (low + high))
        enough = _at_most(middle, mean, variance) >= q
        high, low = np.where(enough, middle, high), np.where(enough, low, middle)
    return high


def _at_most(x: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """P(number <= x) of the negative binomial, or Poisson, with these moments."""
    more = variance - mean
    spread = more > 1e-9 * mean
    size = np.where(spread, mean**2 / np.where(spread, more, 1.0), 1.0)
    cdf = betainc(size, x + 1.0, size / (size + mean))
    return np.where(spread & (size < 1e7), cdf, 1.0 - gammainc(x + 1.0, mean))
