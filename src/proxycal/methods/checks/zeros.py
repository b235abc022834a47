"""Reports of zero: whether the environment moves them beyond what the proxies explain."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from proxycal.methods.checks.wald import count_clusters, meat, wald_p
from proxycal.mixture.logistic import fit_logistic
from proxycal.tails import chi2_sf

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# Prior precision of a slope, in units of one standardised column, so that separated groups keep a finite one.
RIDGE = 1.0 / 25.0


@dataclass(frozen=True, slots=True)
class ZeroTest:
    """Zeros and the environment: p of "given the proxies, E says nothing of zeros", and the strongest column.

    p : NaN where it cannot be asked. column : position in E. slope : its log odds per unit.
    """

    p: float
    column: int
    slope: float


def zero_test(
    is_zero: NDArray[np.bool_], P: Array, E: Array, weights: Array, cluster: NDArray[np.int64] | None = None
) -> ZeroTest:
    """Likelihood-ratio test of E in a logistic model of zeros that has the proxies and their squares.

    P, E : (n, p), (n, q), standardised. With clusters a Wald test with their sandwich takes its place.
    """
    zeros = int(is_zero.sum())
    if not 5 <= zeros <= len(is_zero) - 5:
        return ZeroTest(math.nan, 0, math.nan)
    content = np.column_stack([P, (P**2)[:, P.std(axis=0) > 0]])
    both = np.column_stack([content, E])
    without, full = fit_zeros(content, is_zero, weights), fit_zeros(both, is_zero, weights)
    gain = _loglik(both, is_zero, weights, full) - _loglik(content, is_zero, weights, without)
    design = np.column_stack([np.ones(len(both)), both])
    chance = expit(design @ full)
    bread = design.T @ (design * (weights * chance * (1.0 - chance))[:, None])
    inverse = np.linalg.pinv(bread + RIDGE * np.eye(len(bread)), hermitian=True)
    own = slice(1 + content.shape[1], None)
    if cluster is None:
        cov, p = inverse, float(chi2_sf(max(2.0 * gain, 0.0), E.shape[1]))
    else:
        scores = design * (weights * (is_zero - chance))[:, None]
        cov = inverse @ meat(scores, cluster) @ inverse
        p = wald_p(
            full[own],
            np.asarray(cov[own, own], dtype=np.float64),
            units=count_clusters(cluster),
            df=E.shape[1],
        )
    se = np.sqrt(np.maximum(np.diag(cov)[own], 1e-300))
    strongest = int(np.argmax(np.abs(full[own]) / se))
    return ZeroTest(p, strongest, float(full[own][strongest]))


def fit_zeros(X: Array, share: Array | NDArray[np.bool_], weights: Array) -> Array:
    """Intercept and slopes (1 + q,) of a logistic model of a share (n,) between 0 and 1.

    >>> x = np.array([[-1.0], [-1.0], [1.0], [1.0]])
    >>> fit_zeros(x, np.array([0.1, 0.1, 0.1, 0.1]), np.full(4, 100.0)).round(1).tolist()
    [-2.2, 0.0]
    """
    # Never quite all or none: a method may be sure that nobody is biased.
    inside = np.clip(np.asarray(share, dtype=float), 1e-6, 1.0 - 1e-6)
    return fit_logistic(X, inside, weights, RIDGE)


def _loglik(X: Array, is_one: NDArray[np.bool_], weights: Array, beta: Array) -> float:
    score = beta[0] + X @ beta[1:]
    return float(weights @ -np.logaddexp(0.0, np.where(is_one, -score, score)))
