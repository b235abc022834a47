"""From a bias of the log loss to dollars.

The model sees y = log loss, under-reported by alpha where A = 1. Given the data the true loss of a row is

    L = exp(y)                with probability 1 - p
    L = exp(y + alpha)        with probability p

and a total needs its MEAN, exp(y) (1 - p + p exp(alpha)). exp(y_cal) = exp(y + p alpha) is the loss at the
mean of the log, which is smaller wherever p is neither 0 nor 1 (Jensen): summed over a nation it falls short
by a few per cent. Quantiles, on the other hand, go through exp unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri


@dataclass(frozen=True, slots=True)
class Total:
    """A sum of losses in dollars: as reported, and calibrated with its interval."""

    reported: float
    calibrated: float
    low: float
    high: float


def calibrated_loss(loss: np.ndarray, p_biased: np.ndarray, alpha: float) -> np.ndarray:
    """Mean of the true loss given the data, (n,), dollars.

    >>> calibrated_loss(np.array([100.0, 100.0]), np.array([0.0, 0.5]), np.log(3.0)).round(6).tolist()
    [100.0, 200.0]
    """
    return loss * (1.0 - p_biased + p_biased * np.exp(alpha))


def total_variance(loss: np.ndarray, p_biased: np.ndarray, alpha: float, se: float) -> float:
    """Variance of the sum: who is biased (rows are independent given the fit), and the error of alpha.

    p_biased itself is taken as given, as it is in the intervals of single rows.
    """
    slope = float(np.sum(loss * p_biased)) * np.exp(alpha)
    who = float(np.sum((loss * np.expm1(alpha)) ** 2 * p_biased * (1.0 - p_biased)))
    return who + (slope * se) ** 2


def total(reported: float, calibrated: float, variance: float, level: float) -> Total:
    """A sum with its interval, on the log scale, since a sum of losses is positive and skewed.

    >>> total(50.0, 100.0, 0.0, 0.95)
    Total(reported=50.0, calibrated=100.0, low=100.0, high=100.0)
    """
    if calibrated <= 0.0:
        return Total(reported, calibrated, calibrated, calibrated)
    reach = float(ndtri(0.5 + level / 2)) * np.sqrt(variance) / calibrated
    return Total(reported, calibrated, calibrated * float(np.exp(-reach)), calibrated * float(np.exp(reach)))
