"""Standard errors of the matched effect.

The bootstrap is not valid for a fixed number of matches (Abadie and Imbens 2008), so these are formulas.
"""

from __future__ import annotations

import numpy as np


def control_variance(
    y: np.ndarray,
    w: np.ndarray,
    where: np.ndarray,
    point_weight: np.ndarray,
    near: np.ndarray,
    tau: np.ndarray,
) -> np.ndarray:
    """Conditional variance (m,) of each control: its squared difference tau to the nearest other controls.

    y, w, tau (m,); where (m,) the point of each control; point_weight (points,); near (m, k) the points that
    tau compares with, -1 where there are fewer.
    """
    if len(point_weight) == 1:
        return np.full(len(y), w @ (y - np.average(y, weights=w)) ** 2 / w.sum())
    # E[tau_j^2] = sigma2 * (1 + sum of squared shares). A point holds as many independent outcomes as it has
    # distinct ones: repeated rows are one outcome with more weight.
    order = np.lexsort((y, where))
    point, outcome = where[order], y[order]
    new = np.r_[True, (point[1:] != point[:-1]) | (outcome[1:] != outcome[:-1])]
    outcomes = np.bincount(point[new], minlength=len(point_weight))
    weight = np.where(near >= 0, point_weight[near], 0.0)
    share = weight / weight.sum(axis=1, keepdims=True)
    return np.asarray(tau**2 / (1 + np.sum(share**2 / outcomes[near], axis=1)))


def abadie_imbens(
    deviation: np.ndarray, w_treated: np.ndarray, sigma2: np.ndarray, extra: np.ndarray
) -> float:
    """Variance of the effect on the treated.

    deviation (t,) tau - alpha of the treated, w_treated (t,); sigma2, extra (m,) of the controls.
    """
    # Abadie and Imbens (2006), theorem 7:
    #   V = [ sum_treated (tau_i - alpha)^2 + sum_controls (K_j^2 - K'_j) sigma2_j ] / N_treated^2,
    # K_j the sum, K'_j the sum of squares, of the shares that control j has in the matches of treated rows;
    # `extra` is K_j^2 - K'_j times the weight of j.
    return float((w_treated @ deviation**2 + extra @ sigma2) / w_treated.sum() ** 2)


def by_cluster(
    y: np.ndarray,
    z: np.ndarray,
    w: np.ndarray,
    biased: np.ndarray,
    alpha: float,
    slope: np.ndarray,
    usage: np.ndarray,
    groups: np.ndarray,
) -> float:
    """Variance of the effect on the treated when rows of one cluster share their noise.

    y, w, biased, groups (n,), z (n, d), slope (d,) of y on z among controls, usage (m,) of each control.
    """
    # alpha - truth = sum_treated w_i (y_i - mu(z_i) - alpha)/W - sum_controls w_j K_j (y_j - mu(z_j))/W with
    # mu(z) = E[y | unbiased, z]: the linear part stands in for mu, so curvature is counted as noise, which
    # errs to the safe side. Local means cannot stand in: they hold the outcomes of the same cluster.
    level = y - z @ slope
    intercept = w[~biased] * usage @ level[~biased] / (w[~biased] @ usage)
    psi = np.empty_like(y)
    psi[biased] = w[biased] * (level[biased] - intercept - alpha)
    psi[~biased] = -w[~biased] * usage * (level[~biased] - intercept)
    sums = np.bincount(groups, weights=psi)
    return float(sums @ sums * sums.size / (sums.size - 1) / w[biased].sum() ** 2)
