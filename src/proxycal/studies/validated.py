"""What validated rows allow without a model of the bias: regression calibration, prediction-powered means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proxycal.effect.uncertainty import normal_interval
from proxycal.errors import TableError


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """A mean with its standard error and interval; lam: how far the predictions were trusted."""

    mean: float
    se: float
    low: float
    high: float
    lam: float


def regression_calibration(truth: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Expected truth of every row, by least squares of truth (n,), NaN where not validated, on X (n,p).

    A constant is added. Columns that the validated rows cannot tell apart share their coefficient (the least
    squares solution of smallest norm).

    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> regression_calibration(np.array([1.0, 3.0, np.nan, np.nan]), X).round(6).tolist()
    [1.0, 3.0, 5.0, 7.0]
    """
    known = np.isfinite(truth)
    if known.sum() < 2:
        raise TableError(f"regression calibration needs validated rows, and there are {int(known.sum())}")
    design = np.column_stack([np.ones(len(X)), X])
    beta = np.linalg.lstsq(design[known], truth[known], rcond=None)[0]
    return np.asarray(design @ beta)


def prediction_powered_mean(
    truth: np.ndarray, prediction: np.ndarray, lam: float | None = None, level: float = 0.95
) -> MeanEstimate:
    """Mean of the truth from n validated rows and predictions for N others (Angelopoulos et al. 2023).

    truth (n+N,), NaN where not validated; prediction (n+N,).

        mean = lam * mean_N(f) + mean_n(y - lam * f)        var = lam^2 var(f)/N + var(y - lam * f)/n

    lam = 1 is PPI, 0 the validated rows alone; None takes the lam of least variance (PPI++),
    cov(y, f) / ((1 + n/N) var(f)).

    >>> y, f = np.array([1.0, 2.0, 3.0, np.nan, np.nan]), np.array([0.0, 1.0, 2.0, 3.0, 5.0])
    >>> prediction_powered_mean(y, f, lam=1.0).mean
    5.0
    """
    known = np.isfinite(truth)
    n, N = int(known.sum()), int((~known).sum())
    if min(n, N) < 2:
        raise TableError(f"{n} validated rows and {N} others: a prediction-powered mean needs some of both")
    y, f = truth[known], prediction[known]
    if lam is None:
        spread = float(np.var(prediction, ddof=1))
        covariance = float(np.cov(y, f)[0, 1])
        lam = covariance / ((1.0 + n / N) * spread) if spread > 0.0 else 0.0
    rest = y - lam * f
    mean = lam * float(prediction[~known].mean()) + float(rest.mean())
    variance = lam**2 * float(np.var(prediction[~known], ddof=1)) / N + float(np.var(rest, ddof=1)) / n
    se = float(np.sqrt(variance))
    return MeanEstimate(mean, se, *normal_interval(mean, se, level), float(lam))


@dataclass(frozen=True, slots=True)
class Floor:
    """The least error that taking one size off some rows could leave, by somebody who sees every error."""

    rmse: float
    alpha: float
    share: float


def two_valued_floor(gap: np.ndarray, sign: float, sizes: np.ndarray) -> Floor:
    """How near errors (n,) are to being two-valued: for every size, the rows it helps are given it.

    No estimator can know who they are, so that this bounds what "a shift, or none" can do.

    >>> two_valued_floor(np.array([0.0, 0.0, -3.0]), -1.0, np.array([1.0, 3.0])).rmse
    0.0
    """
    left = np.minimum(gap[None] ** 2, (gap[None] - sign * sizes[:, None]) ** 2).mean(axis=1)
    best = int(np.argmin(left))
    alpha = float(sizes[best])
    return Floor(float(np.sqrt(left[best])), alpha, float(((gap - sign * alpha) ** 2 < gap**2).mean()))
