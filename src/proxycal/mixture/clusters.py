"""Random intercepts of clusters: what rows of a cluster share must not be mistaken for a bias they share.

    y = content + u_c + shift*A + noise,   u_c ~ N(0, tau^2)

The models with a bias, and those without, each remove their own predicted intercepts and pay for them with
the Laplace term of integrating them out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.em import Rules, run
from proxycal.mixture.laws import posterior
from proxycal.mixture.select import FLOOR, one_component
from proxycal.mixture.starts import residual_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.mixture.criterion import Model
    from proxycal.mixture.laws import Rows

    Array = NDArray[np.float64]

ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Intercepts:
    """u (C,) predicted intercepts; tau: their sd; cost: log likelihood paid for them (<= 0)."""

    u: Array
    tau: float
    cost: float


def predict_intercepts(residual: Array, weights: Array, cluster: NDArray[np.intp]) -> Intercepts:
    """Best linear prediction of u_c from residuals, variances by analysis of variance."""
    mass = np.bincount(cluster, weights=weights)
    mean = np.bincount(cluster, weights=weights * residual) / np.maximum(mass, 1e-300)
    used = mass > 0
    n, n_clusters = mass.sum(), used.sum()
    within = (weights * (residual - mean[cluster]) ** 2).sum() / max(n - n_clusters, 1.0)
    grand = np.average(residual, weights=weights)
    between = (mass[used] * (mean[used] - grand) ** 2).sum() / max(n_clusters - 1, 1)
    size = (n - (mass**2).sum() / n) / max(n_clusters - 1, 1)
    tau2 = max((between - within) / max(size, 1e-300), 0.0)
    if tau2 == 0.0 or within <= 0.0:
        return Intercepts(np.zeros(len(mass)), 0.0, 0.0)
    u = mean * tau2 / (tau2 + within / np.maximum(mass, 1e-300)) * used
    cost = -0.5 * float((u**2 / tau2 + np.log1p(mass * tau2 / within)).sum())
    return Intercepts(u, float(np.sqrt(tau2)), cost)


def without_bias(rows: Rows, cluster: NDArray[np.intp]) -> Intercepts:
    """Intercepts of the model without a bias: least squares and prediction in turn."""
    intercepts = Intercepts(np.zeros(int(cluster.max()) + 1), 0.0, 0.0)
    for _ in range(ROUNDS):
        residual = residual_of(rows.X, rows.y - intercepts.u[cluster], rows.weights)
        intercepts = predict_intercepts(residual + intercepts.u[cluster], rows.weights, cluster)
    return intercepts


def with_bias(rows: Rows, proxies_only: Array, cluster: NDArray[np.intp], first: Intercepts) -> Intercepts:
    """Intercepts of the one-component model with a bias: EM and prediction in turn, from two beginnings.

    Beginning with the intercepts without a bias or with none leads to different splits of what clusters share
    into intercepts and bias; the likelihood chooses.
    """
    best, reached = first, -np.inf
    for start in (first, Intercepts(np.zeros_like(first.u), 0.0, 0.0)):
        current = start
        models, _ = one_component(True, rows.shifted(current.u[cluster]), proxies_only)
        model: Model = min(models, key=lambda m: m.bic)
        rules = Rules.of([model.shape], rows.X.shape[1], FLOOR)
        params = model.params
        for _ in range(ROUNDS):
            moved = rows.shifted(current.u[cluster])
            post = posterior(params, moved, model.shape)
            content = params.beta[0, 0] @ rows.X.T
            left = rows.y - content - post.p_biased[0] * post.shift[0]
            current = predict_intercepts(left, rows.weights, cluster)
            fitted = run(params, [rows.shifted(current.u[cluster])], rules, max_steps=15, tol=1e-3)
            params = fitted.params
        value = float(fitted.loglik[0]) + current.cost
        if value > reached:
            best, reached = current, value
    return best
