"""The coefficients of an exact fit by encoded column, from those of its orthonormal features."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import block_diag

from proxycal.effect.coefficients import CONTENT, INTERCEPT, SIZE, WHO, Coefficients
from proxycal.mixture.laws import posterior
from proxycal.mixture.scores import layout_of

if TYPE_CHECKING:
    from proxycal.methods.exact.record import ExactFit
    from proxycal.mixture.designs import Data, Spec
    from proxycal.mixture.features import Basis
    from proxycal.table.encode import Arrays


def exact_coefficients(fit: ExactFit, arrays: Arrays, data: Data) -> Coefficients:
    """Coefficients of the model that answers; data : the rows of `arrays`, the bias upward.

    A wider law has a gate of its own shape: who is biased is then told by the plain model beside it, and the
    errors of who and of how much are taken as independent.
    """
    spec = fit.spec
    who = (INTERCEPT, *arrays.environment_names)
    if fit.law is not None or fit.means is not None or spec.params.gamma is None:
        gamma = np.zeros(len(who)) if spec.params.gamma is None else spec.params.gamma[0]
        slope = _by_column(spec.frame.gate)
        cov = block_diag(slope @ fit.gate_cov @ slope.T, [[fit.estimate.se**2]])
        estimate = np.r_[slope @ gamma, fit.estimate.alpha]
        return Coefficients((*who, "alpha"), (*[WHO] * len(who), SIZE), estimate, cov)
    layout, scale = layout_of(spec.params, spec.shape), spec.frame.scale
    assert spec.params.a is not None
    names, to_size = _sizes(spec, arrays, who)
    blocks = [
        (WHO, who, _by_column(spec.frame.gate), spec.params.gamma[0], layout.gate),
        (SIZE, names, scale * to_size, spec.params.a[0], layout.shift),
    ]
    content = _content_names(spec, arrays)
    offset = np.zeros(0)
    if content:
        slope = fit.sign * scale * _by_column(spec.frame.content)
        blocks.append((CONTENT, content, slope, spec.params.beta[0].ravel(), layout.mean))
        offset = np.r_[fit.sign * spec.frame.centre, np.zeros(len(content) - 1)]
    estimate = np.concatenate([slope @ theta for _, _, slope, theta, _ in blocks])
    estimate[len(estimate) - len(offset) :] += offset
    jacobian = np.zeros((len(estimate), layout.size))
    at = 0
    for _, _, slope, _, place in blocks:
        jacobian[at : at + len(slope), place] = slope
        at += len(slope)
    return Coefficients(
        terms=tuple(name for _, own, _, _, _ in blocks for name in own),
        components=tuple(component for component, own, _, _, _ in blocks for _ in own),
        estimate=estimate,
        cov=jacobian @ fit.cov @ jacobian.T,
        log_lik=float("nan") if fit.cluster_sd > 0.0 else _log_lik(spec, data),
        parameters=int(np.linalg.matrix_rank(fit.cov)),
    )


def _by_column(basis: Basis) -> np.ndarray:
    """From coefficients of the features to those of an intercept and the columns (1 + m, 1 + k).

    features = [1, (columns - centre) @ rotate]
    """
    m, k = basis.rotate.shape
    made = np.zeros((1 + m, 1 + k))
    made[0, 0] = 1.0
    made[0, 1:] = -basis.centre @ basis.rotate
    made[1:, 1:] = basis.rotate
    return made


def _sizes(spec: Spec, arrays: Arrays, who: tuple[str, ...]) -> tuple[tuple[str, ...], np.ndarray]:
    """Terms of the size, and how they follow from the parameters of the shift."""
    effect = spec.frame.effect
    if effect == "constant":
        return ("alpha",), np.eye(1)
    if effect == "linear":
        return who, _by_column(spec.frame.gate)
    column = effect.removeprefix("by:")
    return tuple(f"{column}={level}" for level in arrays.level_names[column]), np.eye(spec.frame.n_levels)


def _content_names(spec: Spec, arrays: Arrays) -> tuple[str, ...]:
    """Terms of the content where it is one straight line of the columns; none of curves and components."""
    basis = spec.frame.content
    names = (*arrays.proxy_names, *arrays.environment_names)
    straight = not basis.products and all(knots is None for knots in basis.knots)
    plain = spec.shape.J == 1 and straight and basis.rotate.shape[0] == len(names)
    return (INTERCEPT, *names) if plain else ()


def _log_lik(spec: Spec, data: Data) -> float:
    """Log likelihood of the rows in the outcome's own units, each counted by its weight."""
    loglik = posterior(spec.params, spec.frame.rows(data), spec.shape).loglik[0]
    return float(data.weights @ (loglik - np.log(spec.frame.scale)))
