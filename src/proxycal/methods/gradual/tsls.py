"""Two-stage least squares: d proxies stand for content, the others are their instruments, B(E) is exogenous.

B(E) stands in every equation, so it can be partialled out first: with the reduced form's residual covariance
S and slopes,

    beta = (S_RI S_II^-1 S_IR)^-1 S_RI S_II^-1 S_Iy,     b = slopes_y - beta' slopes_R

and the estimate needs no rows at all, its errors only the covariance of (slopes, S).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, islice
from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

from proxycal.tails import chi2_sf

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.methods.gradual.moments import Reduced
    from proxycal.methods.gradual.sampling import Sampling

    Array = NDArray[np.float64]

# Choices of normalising proxies that are compared: all of them up to ten proxies of two contents.
CHOICES = 500


@dataclass(frozen=True, slots=True)
class TslsFit:
    """b by two-stage least squares, in the units of `Reduced`.

    normalising, instruments : indices of proxies
    slopes : (d,) of the outcome on the normalising proxies; bias, bias_cov : (q,), (q, q)
    strength : Cragg-Donald F, the first-stage strength in the weakest direction
    j_statistic, j_df, j_p : Hansen's test of over-identification, robust; j_df = 0 where K = 2d
    """

    normalising: tuple[int, ...]
    instruments: tuple[int, ...]
    slopes: Array
    bias: Array
    bias_cov: Array
    strength: float
    j_statistic: float
    j_df: int
    j_p: float


def first_stage(reduced: Reduced, d: int, n_effective: float) -> tuple[float, tuple[int, ...]]:
    """Cragg-Donald F of the best choice of d normalising proxies, and the choice; (0, ()) if K < 2d."""
    n_proxies = len(reduced.scale) - 1
    best: tuple[float, tuple[int, ...]] = (0.0, ())
    if d < 1 or n_proxies < 2 * d:
        return best
    for chosen in islice(combinations(range(n_proxies), d), CHOICES):
        others = [k for k in range(n_proxies) if k not in chosen]
        strength = _cragg_donald(reduced.resid, list(chosen), others, n_effective)
        if strength > best[0] or not best[1]:
            best = (strength, chosen)
    return best


def _cragg_donald(resid: Array, normalising: list[int], instruments: list[int], n_effective: float) -> float:
    own = resid[np.ix_(normalising, normalising)]
    cross = resid[np.ix_(normalising, instruments)]
    explained = cross @ np.linalg.solve(resid[np.ix_(instruments, instruments)], cross.T)
    left = own - explained
    if np.linalg.eigvalsh(left)[0] <= 0.0:
        return float("inf")
    return float(linalg.eigh(explained, left, eigvals_only=True)[0]) * n_effective / len(instruments)


def fit_tsls(
    reduced: Reduced, normalising: tuple[int, ...], sampling: Sampling, n_effective: float
) -> TslsFit:
    """Estimate b with these normalising proxies; all other proxies are instruments."""
    k1, width = reduced.slopes.shape
    chosen = list(normalising)
    others = [k for k in range(k1 - 1) if k not in normalising]
    cross = reduced.resid[np.ix_(others, chosen)]
    target = reduced.resid[others, -1]
    first = np.linalg.solve(reduced.resid[np.ix_(others, others)], cross)
    solver = np.linalg.solve(first.T @ cross, first.T)
    beta = solver @ target
    # Rows enter through r_y - beta' r_R, times B(E) in the slopes and times r_I in the instruments' moments.
    contrast = np.zeros(k1)
    contrast[-1], contrast[chosen] = 1.0, -beta
    covariance = sampling.of_equation(contrast, others)
    influence = np.hstack([np.eye(width), -reduced.slopes[chosen].T @ solver])
    j_statistic, j_p = _hansen(cross, target, covariance[width:, width:])
    return TslsFit(
        normalising=tuple(chosen),
        instruments=tuple(others),
        slopes=beta,
        bias=reduced.slopes[-1] - beta @ reduced.slopes[chosen],
        bias_cov=influence @ covariance @ influence.T,
        strength=_cragg_donald(reduced.resid, chosen, others, n_effective),
        j_statistic=j_statistic,
        j_df=len(others) - len(chosen),
        j_p=j_p,
    )


def _hansen(cross: Array, target: Array, covariance: Array) -> tuple[float, float]:
    """J of two-step GMM: the instruments' moments that d slopes leave, in their own covariance."""
    df = len(target) - cross.shape[1]
    if df <= 0:
        return 0.0, 1.0
    weighted = np.linalg.solve(covariance, cross)
    beta = np.linalg.solve(weighted.T @ cross, weighted.T @ target)
    left = target - cross @ beta
    statistic = float(left @ np.linalg.solve(covariance, left))
    return statistic, float(chi2_sf(statistic, df))
