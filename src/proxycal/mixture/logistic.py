"""A logistic model of a share, with a ridge on its slopes.

scikit-learn's has the same maximum, and takes a second to import, three times as long as a whole fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from proxycal.mixture.minimise import minimise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# Steps at the most, relative gain of the last one, and the largest slope at the maximum.
STEPS, PRECISION, GRADIENT = 500, 1e-13, 1e-7
# Part by which the curvature grows along the diagonal, for columns that repeat others.
JITTER = 1e-9


def fit_logistic(X: Array, share: Array, weights: Array, ridge: float) -> Array:
    """Intercept and slopes (1 + q,) of a share (n,) between 0 and 1 on columns X (n,q).

    >>> x = np.array([[-1.0], [-1.0], [1.0], [1.0]])
    >>> fit_logistic(x, np.full(4, 0.1), np.full(4, 100.0), ridge=1.0).round(3).tolist()
    [-2.197, 0.0]
    """
    ones = np.column_stack([np.ones(len(X)), X])
    held = np.r_[0.0, np.full(X.shape[1], ridge)]

    def lack(beta: Array) -> tuple[float, Array]:
        """Minus the log likelihood and the ridge, and its slopes."""
        score = ones @ beta
        value = weights @ (np.logaddexp(0.0, score) - share * score) + 0.5 * held @ beta**2
        return float(value), ones.T @ (weights * (expit(score) - share)) + held * beta

    # Bohning: no row bends it by more than a quarter.
    bend = 0.25 * ones.T @ (ones * weights[:, None]) + np.diag(held)
    bend += np.diag(JITTER * bend.diagonal())
    free = np.full(len(held), np.inf)
    return minimise(lack, 0.0 * held, -free, free, bend, STEPS, PRECISION, GRADIENT)[0]
