"""Rubin's rules: one estimate and its error from those of m completed tables.

    Q = mean Q_i    T = U + (1 + 1/m) B    U = mean of the covariances, B = covariance of the estimates
    lambda = (1 + 1/m) B / T               share of the variance that comes from what is not known
    df_old = (m - 1) / lambda^2            of many rows (Rubin 1987)
    df_obs = (df_com + 1) / (df_com + 3) df_com (1 - lambda)
    df     = df_old df_obs / (df_old + df_obs)            (Barnard and Rubin 1999)
    fmi    = (r + 2 / (df + 3)) / (r + 1),  r = (1 + 1/m) B / U

Tables in which nothing is missing give back what each of them says.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

# Below this share nothing is missing: the degrees of freedom are those of the completed table.
LEAST_LAMBDA = 1e-4


@dataclass(frozen=True, slots=True)
class Pooled:
    """What m estimates of k coefficients say together.

    estimate, se, df, low, high, t, p, fmi : (k,) each. cov : (k, k).
    """

    estimate: np.ndarray
    se: np.ndarray
    df: np.ndarray
    low: np.ndarray
    high: np.ndarray
    t: np.ndarray
    p: np.ndarray
    fmi: np.ndarray
    cov: np.ndarray


def pool_arrays(
    estimates: np.ndarray, covariances: np.ndarray, df_complete: np.ndarray | float, level: float
) -> Pooled:
    """Pool estimates (m, k) and covariances (m, k, k); df_complete : of a completed table, inf for many rows.

    >>> same = pool_arrays(np.ones((3, 1)), np.full((3, 1, 1), 4.0), np.inf, 0.95)
    >>> same.estimate, same.se, same.fmi
    (array([1.]), array([2.]), array([0.]))
    """
    m = len(estimates)
    mean, within = estimates.mean(axis=0), covariances.mean(axis=0)
    away = estimates - mean
    between = away.T @ away / (m - 1) if m > 1 else np.zeros_like(within)
    cov = within + (1.0 + 1.0 / m) * between
    total, inside = np.diag(cov), np.diag(within)
    missing = (1.0 + 1.0 / m) * np.diag(between)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(total > 0.0, missing / total, 0.0)
        df = degrees(m, share, np.asarray(df_complete, dtype=float))
        riv = missing / inside
        # Draws that are all alike differ by rounding.
        fmi = np.where(share > 1e-12, (riv + 2.0 / (df + 3.0)) / (riv + 1.0), 0.0)
    fmi = np.where(np.isfinite(fmi), fmi, 1.0)
    se = np.sqrt(np.maximum(total, 0.0))
    reach = stdtrit(df, 0.5 + level / 2.0) * se
    with np.errstate(divide="ignore", invalid="ignore"):
        t = mean / se
    p = 2.0 * stdtr(df, -np.abs(t))
    return Pooled(mean, se, df, mean - reach, mean + reach, t, p, fmi, cov)


def degrees(m: int, share: np.ndarray, df_complete: np.ndarray) -> np.ndarray:
    """Barnard and Rubin's degrees of freedom; share (k,) of the variance from what is missing.

    >>> degrees(5, np.array([0.5]), np.array(np.inf)).round(3), degrees(5, np.zeros(1), np.array(21.0))
    (array([16.]), array([21.]))
    """
    old = (m - 1) / np.maximum(share, LEAST_LAMBDA) ** 2 if m > 1 else np.full_like(share, np.inf)
    complete = np.broadcast_to(df_complete, share.shape)
    finite = np.where(np.isfinite(complete), complete, 1.0)
    seen = (finite + 1.0) / (finite + 3.0) * finite * (1.0 - share)
    both = old * seen / np.maximum(old + seen, 1e-300)
    df = np.where(np.isfinite(complete), np.where(np.isfinite(old), both, seen), old)
    return np.asarray(np.where(share <= 0.0, complete, df))
