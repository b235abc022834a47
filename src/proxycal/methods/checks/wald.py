"""Robust tests of several slopes at once: what rows, or whole clusters, add to the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import chi2
from scipy.stats import f as f_distribution

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def solve(X: Array, target: Array) -> Array:
    """Least squares."""
    return np.asarray(np.linalg.lstsq(X, target, rcond=None)[0])


def meat(scores: Array, cluster: NDArray[np.int64] | None = None) -> Array:
    """Sum of the outer products of the scores (n, q), added up within clusters first, (q, q)."""
    if cluster is not None:
        scores = np.column_stack([np.bincount(cluster, column) for column in scores.T])
    return np.asarray(scores.T @ scores)


def wald_p(value: Array, cov: Array, cluster: NDArray[np.int64] | None = None) -> float:
    """The p-value of value = 0; a covariance out of few clusters is itself a guess, so Hotelling's T2 there.

    >>> round(wald_p(np.array([1.96]), np.eye(1)), 3)
    0.05
    """
    statistic = max(float(value @ np.linalg.pinv(cov, hermitian=True) @ value), 0.0)
    q = max(int(np.linalg.matrix_rank(cov, hermitian=True)), 1)
    if cluster is None:
        return float(chi2.sf(statistic, q))
    groups = len(np.unique(cluster))
    if groups <= q:
        return 1.0
    return float(f_distribution.sf(statistic * (groups - q) / (q * (groups - 1)), q, groups - q))
