"""The rows of a fit on the scale on which it was made: as they are, or the logarithms of those above zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from proxycal.result import Fit


@dataclass(frozen=True, slots=True)
class ScaledRows:
    """Outcome, what content predicts of it, P(A=1) and weights of n rows, all (n,)."""

    y: np.ndarray
    mu: np.ndarray
    p_biased: np.ndarray
    weights: np.ndarray


def on_fit_scale(fit: Fit) -> ScaledRows:
    """The rows that pages show, as the method saw them."""
    rows, predicted = fit.rows, fit.rows.predicted
    if fit.settings.scale != "log":
        return ScaledRows(rows.y_obs, predicted.mu, predicted.p_biased, rows.weights)
    above = rows.y_obs > 0.0
    # mu is a mean in the outcome's own units; the method speaks of mean logarithms.
    mu = np.log(predicted.mu[above]) - fit.method_fit.details.log_spread
    return ScaledRows(np.log(rows.y_obs[above]), mu, predicted.p_biased[above], rows.weights[above])
