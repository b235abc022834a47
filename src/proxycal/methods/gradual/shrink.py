"""Categories with many levels: coefficients shrunk towards each other by an amount that the data choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg, optimize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Shrunk:
    """coefficients (q,), covariance (q, q) after shrinkage; spreads: sd of the levels of each group."""

    coefficients: Array
    covariance: Array
    spreads: tuple[float, ...]


def shrink(coefficients: Array, covariance: Array, groups: Sequence[NDArray[np.int64]]) -> Shrunk:
    """Empirical Bayes: the levels of each group are draws of N(mean, spread^2), other coefficients are free.

    A group holds the indices of contrasts with its reference level, so independent levels give contrasts the
    covariance spread^2 (I + 11'), whichever level is the reference. The spreads maximise the likelihood of the
    estimated contrasts, N(0, V + T); the posterior mean is T (V + T)^-1 b, and the free coefficients move with
    the contrasts they were estimated with.
    """
    groups = [group for group in groups if len(group)]
    if not groups:
        return Shrunk(coefficients, covariance, ())
    index = np.concatenate(groups)
    estimate, noise = coefficients[index], covariance[np.ix_(index, index)]
    shapes = [np.eye(len(group)) + 1.0 for group in groups]
    unit = float(np.mean(np.diag(noise)))

    def prior(log_spreads: Array) -> Array:
        return linalg.block_diag(*(np.exp(2.0 * s) * unit * c for s, c in zip(log_spreads, shapes, strict=True)))

    def minus_log_likelihood(log_spreads: Array) -> float:
        total = noise + prior(log_spreads)
        return float(np.linalg.slogdet(total)[1] + estimate @ np.linalg.solve(total, estimate))

    start = np.full(len(groups), 0.0)
    best = optimize.minimize(minus_log_likelihood, start, method="L-BFGS-B", bounds=[(-8.0, 8.0)] * len(groups))
    spread = prior(best.x)
    total = noise + spread
    gain = np.linalg.solve(total, spread).T
    # Free coefficients: b_u + V_us V_ss^-1 (shrunk - estimate), which is V_us (V + T)^-1 (-estimate).
    moved = coefficients - covariance[:, index] @ np.linalg.solve(total, estimate)
    moved[index] = gain @ estimate
    left = covariance - covariance[:, index] @ np.linalg.solve(total, covariance[index])
    return Shrunk(moved, left, tuple(float(np.exp(s) * np.sqrt(unit)) for s in best.x))
