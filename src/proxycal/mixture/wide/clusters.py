"""Random intercepts of clusters under a wider model: predicted, removed, paid for; the same on both sides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.wide.fit import Fitted, replaced

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

ROUNDS, TURNS = 4, 15
STEPS = 40


@dataclass(frozen=True, slots=True)
class Refined:
    """A model fitted to the outcome without its own intercepts; tau: their sd; bic with their price."""

    fitted: Fitted
    intercepts: Array
    tau: float
    bic: float


def refine(model: Fitted, y: Array, cluster: NDArray[np.intp]) -> Refined:
    """Predict the intercepts under the model, remove them, fit again; the price is Laplace's.

    y (n,) : the outcome with all that clusters share in it.
    """
    weights = model.problem.weights
    u = np.bincount(cluster, y - model.problem.y) / np.maximum(np.bincount(cluster), 1)
    variance, precision = 0.3 * float(np.var(y)), np.zeros(len(u))
    for _ in range(ROUNDS):
        likelihood = model.likelihood
        seen = likelihood.seen(model.theta)
        inverse = seen.r / seen.cells.variance
        by_row = inverse.sum(axis=(0, 1)) * weights
        shared = y - model.problem.y
        pull = (inverse * (seen.cells.left + shared)).sum(axis=(0, 1)) * weights
        precision, mean = (np.asarray(np.bincount(cluster, part), dtype=float) for part in (by_row, pull))
        for _ in range(TURNS):
            u = mean / (precision + 1.0 / variance)
            variance = max(float((u**2 + 1.0 / (precision + 1.0 / variance)).mean()), 1e-6)
        model = replaced(model, replace(model.problem, y=y - u[cluster]), STEPS)
    cost = 0.5 * float((u**2 / variance + np.log1p(variance * precision)).sum())
    return Refined(model, u, float(np.sqrt(variance)), model.bic + 2.0 * cost)
