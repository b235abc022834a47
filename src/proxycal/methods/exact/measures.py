"""Single numbers of the evidence, each a function of rows and a fitted model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from proxycal.methods.checks.wald import wald_p
from proxycal.mixture.laws import content_mean, posterior
from proxycal.mixture.least_squares import least_squares
from proxycal.mixture.thresholds import THRESHOLDS
from proxycal.tails import f_sf

if TYPE_CHECKING:
    from proxycal.mixture.answers import RowAnswers
    from proxycal.mixture.candidates import ExactBias
    from proxycal.mixture.designs import Data, Spec


def residual_sd(null: Spec, data: Data) -> float:
    """The sd of the outcome around the content of the best plain model without a bias."""
    rows = null.frame.rows(data)
    content = content_mean(null.params, rows, posterior(null.params, rows, null.shape))
    return float(np.sqrt(np.average((rows.y - content) ** 2, weights=data.weights))) * null.frame.scale


def size_cv(answers: RowAnswers, weights: np.ndarray) -> float:
    """Coefficient of variation of the bias over the biased."""
    mass = weights * answers.p_biased
    mean = float(np.average(answers.size, weights=mass + 1e-300))
    square = float(np.average(answers.spread**2 + (answers.size - mean) ** 2, weights=mass + 1e-300))
    return math.sqrt(square) / max(mean, 1e-300)


def is_two_humped(null: Spec) -> bool:
    """Whether the best model without a bias is a residual with two places, two of their sds apart."""
    if null.shape.shift:
        return True
    if null.shape.J == 1 or null.shape.means != "shared":
        return False
    omega = null.params.omega[0, :, 0]
    share = np.exp(omega - omega.max())
    heavy = share / share.sum() > THRESHOLDS.hump_share
    place, sd = null.params.beta[0, heavy, 0], np.exp(null.params.log_sigma[0, heavy])
    return bool(len(place) > 1 and np.ptp(place) > THRESHOLDS.apart * sd.max())


def constancy_of(answer: ExactBias) -> float:
    """p-value of "all shift coefficients are the same" (by level), or "all slopes are zero" (linear)."""
    L = len(answer.shift)
    if L < 2:
        return math.nan
    if answer.bias.frame.effect == "linear":
        return wald_p(answer.shift[1:], answer.shift_cov[1:, 1:], df=L - 1)
    contrast = np.eye(L)[1:] - np.eye(L)[:1]
    return wald_p(contrast @ answer.shift, contrast @ answer.shift_cov @ contrast.T, df=L - 1)


def relevance_of(y: np.ndarray, data: Data) -> float:
    """Partial R2 of the proxies given E."""
    E = np.column_stack([np.ones(len(y)), data.E])

    def left(X: np.ndarray) -> float:
        residual = y - X @ least_squares(X, y, data.weights)
        return float(data.weights @ residual**2)

    alone, both = left(E), left(np.column_stack([E, data.P]))
    n, k = float(data.weights.sum()), data.P.shape[1]
    rest = max(n - k - E.shape[1], 1.0)
    p_value = f_sf((alone - both) / k / max(both / rest, 1e-300), k, rest)
    # k columns explain k/n by chance: what they explain must be no accident, and is counted beyond it.
    return (
        max(0.0, 1.0 - (both / rest) / max(alone / (rest + k), 1e-300))
        if p_value < THRESHOLDS.relevance_p
        else 0.0
    )


def overlap_of(content: np.ndarray, p_biased: np.ndarray) -> float:
    """Share of the biased rows inside the bulk of the unbiased rows' content; NaN with one group only."""
    biased = p_biased > 0.5
    if not biased.any() or biased.all():
        return math.nan
    tail = THRESHOLDS.overlap_tail
    low, high = np.quantile(content[~biased], [tail, 1.0 - tail])
    inside = (content[biased] >= low) & (content[biased] <= high)
    return float(inside.mean())
