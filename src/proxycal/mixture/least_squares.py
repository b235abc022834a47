"""Least squares that does not fail.

numpy's `lstsq` takes singular values, whose iteration may not converge for columns that are orthonormal but
for rounding: the features of the exact method are, and one fit of 2,000 ended in an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import lstsq

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def least_squares(X: Array, y: Array, weights: Array | None = None, rcond: float | None = None) -> Array:
    """Slopes of y (n,) or (n,k) on columns X (n,p), by QR with pivots: (p,) or (p,k).

    weights : (n,), or None for equal ones. rcond : part of the largest direction below which another counts
    as none, rounding by default; of slopes that are not determined the smallest are taken.

    >>> least_squares(np.ones((3, 2)), np.array([1.0, 2.0, 3.0])).round(9).tolist()
    [1.0, 1.0]
    """
    if weights is not None:
        root = np.sqrt(weights)
        X, y = X * root[:, None], (y.T * root).T
    smallest = max(X.shape) * np.finfo(float).eps if rcond is None else rcond
    slopes = lstsq(X, y, cond=smallest, lapack_driver="gelsy", check_finite=False)[0]
    return np.asarray(slopes, dtype=float)
