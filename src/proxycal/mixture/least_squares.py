"""Least squares that does not fail.

numpy's `lstsq` takes singular values, whose iteration may not converge for columns that are orthonormal but
for rounding: the features of the exact method are, and one fit of 2,000 ended in an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import lstsq
from scipy.linalg.lapack import dpotrf, dpotrs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# Part of the largest pivot that the smallest must have for the normal equations: they lose three digits then.
# Columns are compared in units of their own length where none is shorter than this part of the longest: one
# that is nothing but rounding must stay so, as the scores of a spike are that every row is sure of.
EVEN, COMPARABLE = 0.03, 1e-4


def least_squares(X: Array, y: Array, weights: Array | None = None, rcond: float | None = None) -> Array:
    """Slopes of y (n,) or (n,k) on columns X (n,p): (p,) or (p,k).

    weights : (n,), or None for equal ones. rcond : part of the largest direction below which another counts
    as none, rounding by default; of slopes that are not determined the smallest are taken.

    Columns that are nearly orthonormal, as features are, by the normal equations; others by QR with pivots.

    >>> least_squares(np.ones((3, 2)), np.array([1.0, 2.0, 3.0])).round(9).tolist()
    [1.0, 1.0]
    """
    weighted = X if weights is None else X * weights[:, None]
    gram, along = weighted.T @ X, (weighted.T @ y).T
    length = np.sqrt(gram.diagonal())
    shortest = length.min(initial=np.inf)
    if rcond is not None or not 0.0 < shortest >= COMPARABLE * length.max(initial=0.0):
        length = np.ones(len(gram))
    root, failed = dpotrf(gram / length / length[:, None], lower=1)
    pivots = root.diagonal()
    if not failed and len(pivots) and pivots.min() >= EVEN * pivots.max():
        return np.asarray((dpotrs(root, (along / length).T, lower=1)[0].T / length).T)
    if weights is not None:
        scale = np.sqrt(weights)
        X, y = X * scale[:, None], (y.T * scale).T
    smallest = max(X.shape) * np.finfo(float).eps if rcond is None else rcond
    slopes = lstsq(X, y, cond=smallest, lapack_driver="gelsy", check_finite=False)[0]
    return np.asarray(slopes, dtype=float)
