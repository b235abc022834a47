"""Robust tests of several slopes at once: what rows, or whole clusters, add to the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.least_squares import least_squares
from proxycal.tails import chi2_sf, f_sf

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def solve(X: Array, target: Array) -> Array:
    """Least squares."""
    return least_squares(X, target)


def meat(scores: Array, cluster: NDArray[np.int64] | None = None) -> Array:
    """Sum of the outer products of the scores (n, q), added up within clusters first, (q, q)."""
    if cluster is not None:
        scores = np.column_stack([np.bincount(cluster, column) for column in scores.T])
    return np.asarray(scores.T @ scores)


def count_clusters(cluster: NDArray[np.int64] | None) -> int | None:
    """The `units` of `wald_p`: how many clusters there are, None where rows stand alone."""
    return None if cluster is None else len(np.unique(cluster))


def wald_p(value: Array, cov: Array, units: float | None = None, df: int | None = None) -> float:
    """The p-value of "value = 0".

    Parameters
    ----------
    value : (q,)
        The slopes.
    cov : (q, q)
        Their covariance.
    units : float, default None
        Independent rows or clusters that the covariance was estimated from. Few of them make it a guess
        itself, so that the test is Hotelling's T2 with an F distribution. None: many, and chi2.
    df : int, default None
        Degrees of freedom; the rank of the covariance if None.

    Examples
    --------
    >>> round(wald_p(np.array([1.96]), np.eye(1)), 3)
    0.05
    >>> round(wald_p(np.array([1.96]), np.eye(1), units=11), 3)
    0.078

    """
    statistic = max(float(value @ np.linalg.pinv(cov, hermitian=True) @ value), 0.0)
    q = max(int(np.linalg.matrix_rank(cov, hermitian=True)), 1) if df is None else df
    if units is None:
        return float(chi2_sf(statistic, q))
    if units <= q:
        return 1.0
    return float(f_sf(statistic * (units - q) / (q * (units - 1)), q, units - q))
