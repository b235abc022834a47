"""Intervals for the size of the bias: from a covariance, or from reweighted refits.

The weighted-likelihood bootstrap gives every row (or cluster) an exponential weight and refits: the refits of
all draws are one batch for the estimator. It needs no normality of alpha_hat; the sandwich needs no refit.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri


def normal_interval(alpha: float, se: float, level: float) -> tuple[float, float]:
    """The interval of a normal estimate.

    >>> low, high = normal_interval(2.0, 0.5, 0.95)
    >>> round(low, 3), round(high, 3)
    (1.02, 2.98)
    """
    reach = float(ndtri(0.5 + level / 2.0)) * se
    return alpha - reach, alpha + reach


def bootstrap_weights(
    weights: np.ndarray, cluster: np.ndarray | None, draws: int, random_state: int
) -> np.ndarray:
    """Random weights of mean one, times the rows' own: (draws, n). Rows of a cluster share theirs.

    A row that stands for w rows gets the mean of w exponentials, as its copies would.

    >>> made = bootstrap_weights(np.ones(4), np.array([0, 0, 1, 1]), draws=3, random_state=0)
    >>> made.shape, bool((made[:, 0] == made[:, 1]).all())
    ((3, 4), True)
    """
    rng = np.random.default_rng(random_state)
    if cluster is None:
        return np.asarray(rng.gamma(weights, size=(draws, len(weights))))
    codes = np.unique(cluster, return_inverse=True)[1]
    return np.asarray(rng.exponential(size=(draws, int(codes.max()) + 1))[:, codes] * weights)


def bootstrap_covariance(draws: np.ndarray) -> np.ndarray:
    """Covariance (L, L) of refitted sizes, draws (B, L), that one wild refit cannot decide.

    Draws are pulled in to three robust standard deviations of their median before the covariance is taken.

    >>> draws = np.random.default_rng(0).normal(1.0, 0.1, size=(4000, 1))
    >>> draws[0] = 1e6
    >>> round(float(bootstrap_covariance(draws)[0, 0]), 3)
    0.01
    """
    centre = np.median(draws, axis=0)
    spread = 1.4826 * np.median(np.abs(draws - centre), axis=0)
    kept = np.clip(draws, centre - 3.0 * spread, centre + 3.0 * spread)
    return np.atleast_2d(np.cov(kept, rowvar=False))
