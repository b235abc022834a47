"""Content, proxies and a graded bias as one system of first and second moments, and its likeliest values.

    y = c + lambda'Z + b'B(E) + eps,   P = m + W Z + u,   Z | E ~ (Gamma B(E), I_d)

so that with Lambda = (W; lambda') the reduced form is

    slopes = Lambda Gamma + e_y b',    resid = Lambda Lambda' + Psi        (Psi diagonal)

Z is known up to a rotation, b is not affected by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.least_squares import least_squares
from proxycal.mixture.minimise import minimise, within

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.methods.gradual.moments import Reduced

    Array = NDArray[np.float64]

# Error variances stay above this share of the residual variance: at zero the likelihood has no maximum.
LEAST_ERROR, MOST_ERROR = 1e-3, 10.0
# Relative change of the likelihood at which a search ends. The coarse one tells which start leads to the best
# maximum, and whether the structure is worth its parameters.
FINE, COARSE = 1e-14, 1e-7
# Steps of a search at the most, and the slope at or below which it ends.
STEPS, GRADIENT = 2_000, 1e-8
# Scoring: its steps at the most, the relative gain below which it leaves the rest to BFGS, the part by which
# it damps first and at the least, and how far a logarithm of an error variance may go in one step.
SCORING_STEPS, SCORED, DAMPED, LEAST_DAMPED, FARTHEST = 40, 1e-6, 1e-2, 1e-8, 2.0


@dataclass(frozen=True, slots=True)
class Structure:
    """A fitted system, in the units of `Reduced` (whitened basis, residual standard deviations).

    loadings : (K + 1, d), the outcome last; errors : (K + 1,) = diag Psi
    gamma : (d, q); bias : (q,) = b; distance : fit less the saturated fit, >= 0, per row
    settled : whether its last digits are those of the maximum
    """

    loadings: Array
    errors: Array
    gamma: Array
    bias: Array
    distance: float
    settled: bool

    @property
    def dimension(self) -> int:
        """d, the number of contents."""
        return self.loadings.shape[1]

    @property
    def implied(self) -> Array:
        """(K + 1, K + 1) implied residual covariance."""
        return self.loadings @ self.loadings.T + np.diag(self.errors)


def fit_structure(reduced: Reduced, d: int) -> Structure:
    """Maximise the quasi-likelihood for d contents, up to the last digits."""
    k1 = len(reduced.scale)
    if d == 0:  # closed form: every covariance and every slope of a proxy is left unexplained
        errors = 1.0 + np.append((reduced.slopes[:-1] ** 2).sum(axis=1), 0.0)
        gamma = np.zeros((0, reduced.slopes.shape[1]))
        distance = float(np.log(errors).sum()) + k1 - _saturated(reduced)
        return Structure(np.zeros((k1, 0)), errors, gamma, reduced.slopes[-1].copy(), distance, True)
    tried = [_search(start, reduced, d, COARSE) for start in _starts(reduced, d)]
    return _structure(*min(tried, key=lambda one: one[1]), reduced, d, settled=False)


def settle(structure: Structure, reduced: Reduced) -> Structure:
    """The same structure to the last digits."""
    if structure.settled:
        return structure
    near = np.r_[structure.loadings.ravel(), structure.errors]
    found = _search(near, reduced, structure.dimension, FINE)
    return _structure(*found, reduced, structure.dimension, settled=True)


def _structure(values: Array, value: float, reduced: Reduced, d: int, settled: bool) -> Structure:
    loadings, errors = _unpack(values, len(reduced.scale), d)
    gamma = _proxy_weights(loadings, errors) @ reduced.slopes[:-1]
    bias = reduced.slopes[-1] - loadings[-1] @ gamma
    return Structure(loadings, errors, gamma, bias, max(value - _saturated(reduced), 0.0), settled)


def _saturated(reduced: Reduced) -> float:
    """Minus twice the likelihood of a system that explains everything, per row."""
    return float(np.linalg.slogdet(reduced.resid)[1]) + len(reduced.resid)


def _search(start: Array, reduced: Reduced, d: int, tolerance: float) -> tuple[Array, float]:
    """Loadings and error variances at a maximum, and minus twice the likelihood there.

    Scoring comes near it in a few steps, wherever it starts; BFGS goes on from there to the last digits.
    """
    observed, k1 = (reduced.resid, reduced.slopes[:-1] @ reduced.slopes[:-1].T), len(reduced.resid)
    free = np.full(k1 * d, np.inf)
    lower, upper = np.r_[-free, np.full(k1, LEAST_ERROR)], np.r_[free, np.full(k1, MOST_ERROR)]
    place = within(start, lower, upper)
    value, slopes = objective(place, *observed, d)
    damping = DAMPED
    for _ in range(SCORING_STEPS):
        # Of error variances the logarithm: its curvature is about the same everywhere.
        units = np.r_[np.ones(k1 * d), place[k1 * d :]]
        bend = information(place, observed[1], d) * np.outer(units, units)
        held = ((place <= lower) & (slopes > 0.0)) | ((place >= upper) & (slopes < 0.0))
        slope = np.where(held, 0.0, slopes * units)
        step = -np.linalg.solve(bend + np.diag(damping * bend.diagonal()), slope)
        changed = np.exp(np.minimum(np.maximum(step[k1 * d :], -FARTHEST), FARTHEST))
        new = np.r_[place[: k1 * d] + step[: k1 * d], place[k1 * d :] * changed]
        new = within(new, lower, upper)
        new_value, new_slopes = objective(new, *observed, d)
        if not new_value <= value:
            damping *= 10.0
            continue
        gained, damping = value - new_value, max(0.1 * damping, LEAST_DAMPED)
        place, value, slopes = new, new_value, new_slopes
        if gained <= max(SCORED, tolerance) * max(abs(value), 1.0):
            break
    bend = information(place, observed[1], d)
    return minimise(
        lambda values: objective(values, *observed, d),
        place,
        lower,
        upper,
        curvature=bend + np.diag(LEAST_DAMPED * bend.diagonal()),
        steps=STEPS,
        precision=tolerance,
        gradient=GRADIENT,
        begun=(value, slopes),
    )


def information(values: Array, between: Array, d: int) -> Array:
    """Expected curvature of the objective in (Lambda, Psi), (k, k), with Gamma and b at their best.

    With S = Sigma^-1 the part of the covariances is tr(S dSigma S dSigma') along dSigma and dSigma', where
    dSigma is e_a lambda_f' + lambda_f e_a' for a loading and e_a e_a' for an error variance. Slopes of
    proxies add 2 (dW Gamma)' Q (dW' Gamma), where Q is Psi^-1 less what Gamma takes up.
    """
    k1 = len(between) + 1
    loadings, errors = _unpack(values, k1, d)
    inverse, precision = np.linalg.inv(loadings @ loadings.T + np.diag(errors)), 1.0 / errors[:-1]
    seen, weights = inverse @ loadings, _proxy_weights(loadings, errors)
    left = np.diag(precision) - (loadings[:-1] * precision[:, None]) @ weights
    both = np.einsum("ab,fg->afbg", inverse, loadings.T @ seen) + np.einsum("ag,bf->afbg", seen, seen)
    both[:-1, :, :-1] += np.einsum("ab,fg->afbg", left, weights @ between @ weights.T)
    bend = np.empty((k1 * (d + 1), k1 * (d + 1)))
    bend[: k1 * d, : k1 * d] = 2.0 * both.reshape(k1 * d, -1)
    cross = 2.0 * (inverse[:, None, :] * seen.T).reshape(k1 * d, k1)
    bend[: k1 * d, k1 * d :], bend[k1 * d :, : k1 * d] = cross, cross.T
    bend[k1 * d :, k1 * d :] = inverse * inverse
    return bend


def _unpack(values: Array, k1: int, d: int) -> tuple[Array, Array]:
    return values[: k1 * d].reshape(k1, d), values[k1 * d :]


def _proxy_weights(loadings: Array, errors: Array) -> Array:
    """(d, K) the generalised least-squares fit of Gamma to the proxies' slopes, given Lambda and Psi.

    b frees the slopes of the outcome, so that Gamma is the best fit of W Gamma ~ slopes_P; its weight
    Sigma_PP^-1 may be replaced by Psi_P^-1. The closed form leaves (Lambda, Psi) to search over, however many
    columns the basis has.
    """
    weighted = loadings[:-1] / errors[:-1, None]
    gram = weighted.T @ loadings[:-1] + 1e-10 * np.eye(loadings.shape[1])
    return np.asarray(np.linalg.solve(gram, weighted.T))


def objective(values: Array, resid: Array, between: Array, d: int) -> tuple[float, Array]:
    """log|Sigma| + tr(Sigma^-1 M), M = resid + gap gap', and its gradient (by the envelope theorem).

    between : (K, K) = slopes_P slopes_P'. The gap W Gamma - slopes_P is orthogonal to W in the metric Psi^-1,
    so that the outcome has none and Sigma^-1 gap = Psi^-1 gap; of the slopes only `between` is needed.
    """
    loadings, errors = _unpack(values, len(resid), d)
    proxies, precision = loadings[:-1], 1.0 / errors
    weights = _proxy_weights(loadings, errors)
    left = between - proxies @ (weights @ between)
    gap_squared = left - (left @ weights.T) @ proxies.T
    # Sigma^-1 and |Sigma| through the d x d matrix I + Lambda' Psi^-1 Lambda.
    weighted = loadings * precision[:, None]
    root = np.linalg.cholesky(np.eye(d) + loadings.T @ weighted)
    half = np.linalg.solve(root, weighted.T)
    inverse = np.diag(precision) - half.T @ half
    value = np.log(errors).sum() + 2.0 * np.log(root.diagonal()).sum() + (inverse * resid).sum()
    value += precision[:-1] @ gap_squared.diagonal()
    toward = inverse - inverse @ resid @ inverse
    toward[:-1, :-1] -= gap_squared * np.outer(precision[:-1], precision[:-1])
    by_loadings = toward @ loadings
    by_loadings[:-1] -= (left @ weights.T) * precision[:-1, None]
    return float(value), np.concatenate([2.0 * by_loadings.ravel(), toward.diagonal()])


def foretold(structure: Structure, reduced: Reduced) -> float:
    """What one more content would take off the distance, as far as the best of a few directions shows.

    Along w, in units in which Sigma is the identity, a content explains what resid has beyond it, which is
    a - 1 - log a with a = w' resid w, and all of the gap that slopes of proxies leave.
    """
    root = np.linalg.cholesky(structure.implied)
    gap = structure.loadings @ structure.gamma - reduced.slopes
    gap[-1] = 0.0
    resid = np.linalg.solve(root, np.linalg.solve(root, reduced.resid).T)
    gap = np.linalg.solve(root, gap)
    along = np.linalg.eigh(resid + gap @ gap.T)[1]
    a = np.maximum(np.einsum("ij,ik,kj->j", along, resid, along), 1.0)
    return float((a - 1.0 - np.log(a) + ((gap.T @ along) ** 2).sum(axis=0)).max())


def _starts(reduced: Reduced, d: int) -> tuple[Array, Array]:
    """Loadings from the leading directions of what proxies share given E, and of that and what E moves."""
    k1 = len(reduced.scale)
    between = reduced.slopes[:-1] @ reduced.slopes[:-1].T
    within = reduced.resid[:-1, :-1]
    errors = np.full(k1, 0.5)
    starts = []
    for mixture in (within, 0.5 * within + between):
        values, vectors = np.linalg.eigh(mixture)
        loadings = vectors[:, ::-1][:, :d] * np.sqrt(0.6 * np.maximum(values[::-1][:d], 0.1))
        size = np.sqrt(np.maximum((loadings**2).sum(axis=1), 1e-6))
        loadings *= np.minimum(1.0, 0.9 / size)[:, None]
        outcome = least_squares(loadings, reduced.resid[:-1, -1])
        outcome *= min(1.0, 0.9 / max(float(np.linalg.norm(outcome)), 1e-6))
        starts.append(np.concatenate([np.vstack([loadings, outcome]).ravel(), errors]))
    return starts[0], starts[1]
