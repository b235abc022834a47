"""EM for a batch of gated shift mixtures: sums over rows, closed-form updates, acceleration.

`statistics` turns a chunk of rows into sums; sums of chunks add; `update` turns sums into parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.laws import RIDGE, Params, Posterior, Rows, Shape, by_rows, posterior
from proxycal.mixture.sums import Elsewhere, Summed, add_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from proxycal.mixture.laws import Maybe
    from proxycal.mixture.sums import Chunked

    Array = NDArray[np.float64]


# Smallest sd of an atom, in sds of the outcome: a wider one takes in neighbours, which move the distance of
# the two places of the atom that the bias shows in (at 0.02 by a third of its error, in JOBS).
ATOM_FLOOR = 0.006
# Sets of weights from which on one less for each model saves time; without products of columns, two are.
MANY_SETS = 8


@dataclass(frozen=True, slots=True)
class Statistics(Summed):
    """Weighted sums over rows that the updates need.

    loglik (B,); S_xx (B,J,p,p), S_xy (B,J,p), S_yy (B,J): moments weighted by P(j), divided by the
    row's own variance factor; mass (B,J): sum of P(j); D_x (B,J,L,p), D_y (B,J,L), D_d (B,J,L,L): the
    same among the biased; gate_*, weight_*, scale_*: gradients and curvatures.
    """

    loglik: Array
    S_xx: Array
    S_xy: Array
    S_yy: Array
    mass: Array
    D_x: Maybe = None
    D_y: Maybe = None
    D_d: Maybe = None
    gate_gradient: Maybe = None
    gate_curvature: Maybe = None
    weight_gradient: Maybe = None
    weight_curvature: Maybe = None
    scale_gradient: Maybe = None
    scale_curvature: Maybe = None


def statistics(params: Params, rows: Rows, shape: Shape, post: Posterior | None = None) -> Statistics:
    """The sums of one chunk of rows under the current parameters (or under a given posterior: a start)."""
    given = post is not None
    if post is None:
        post = posterior(params, rows, shape)
    B, J, p = params.beta.shape
    L = rows.D.shape[1]
    W = rows.weights if rows.weights.ndim == 2 else rows.weights[None]
    by_j = (post.r0 if post.r1 is None else post.r0 + post.r1) * W[:, None]
    scaled = by_j if post.precision is None else by_j * post.precision[:, None]
    S_xy = by_rows(scaled, rows.XY)
    mass = by_j.sum(axis=2)
    # With one component and one variance every row keeps its weight: the Gram matrix never changes.
    if J == 1 and post.precision is None:
        S_xx = np.broadcast_to(rows.gram[:, None], (B, 1, p, p))
    elif post.precision is None and not given and (B * J >= MANY_SETS or not rows.packs(by_j)):
        S_xx = _grams_of_components(rows, by_j, mass)
    else:
        S_xx = rows.grams(scaled)
    sums = {
        "loglik": (post.loglik * W).sum(axis=1),
        "S_xx": S_xx,
        "S_xy": S_xy[..., :p],
        "S_yy": S_xy[..., p],
        "mass": mass,
    }
    if post.r1 is not None and post.pi is not None and post.p_biased is not None:
        biased = post.r1 * W[:, None]
        if post.precision is not None:
            biased = biased * post.precision[:, None]
        DX = by_rows(biased, rows.DX)
        sums["D_x"] = DX[..., : p * L].reshape(B, J, p, L).swapaxes(2, 3)
        sums["D_y"] = DX[..., p * L :]
        sums["D_d"] = by_rows(biased, rows.DD).reshape(B, J, L, L)
        sums["gate_gradient"] = ((post.p_biased - post.pi) * W) @ rows.G
        sums["gate_curvature"] = rows.gate_grams(post.pi * (1.0 - post.pi) * W)
    if shape.weights == "content" and shape.J > 1:
        sums |= _weight_sums(post, rows, by_j, W)
    if post.precision is not None:
        sums |= _scale_sums(params, post, rows, W)
    return Statistics(**sums)


def _grams_of_components(rows: Rows, by_j: Array, mass: Array) -> Array:
    """X'WX of each component (B,J,p,p), which add up to that of the rows: the heaviest is what others leave.

    Of one with few rows a difference would leave rounding.
    """
    B, J, p = *mass.shape, rows.X.shape[1]
    models, heaviest = np.arange(B), mass.argmax(axis=1)
    others = (heaviest[:, None] + np.arange(1, J)) % J
    grams = np.empty((B, J, p, p))
    light = rows.grams(by_j[models[:, None], others])
    grams[models[:, None], others] = light
    grams[models, heaviest] = rows.gram - light.sum(axis=1)
    return grams


def _weight_sums(post: Posterior, rows: Rows, by_j: Array, W: Array) -> dict[str, Array]:
    """Gradient (B,J-1,p) and curvature (B,(J-1)p,(J-1)p) of sum_j r_j log w_j(x), class 0 the base."""
    w = np.exp(post.log_w)[:, 1:]
    B, K, _ = w.shape
    p = rows.X.shape[1]
    gradient = by_rows(by_j[:, 1:] - w * W[:, None], rows.X)
    blocks = w[:, :, None] * (np.eye(K)[None, :, :, None] - w[:, None]) * W[:, None, None]
    curvature = rows.grams(blocks).transpose(0, 1, 3, 2, 4).reshape(B, K * p, K * p)
    return {"weight_gradient": gradient, "weight_curvature": curvature}


def _scale_sums(params: Params, post: Posterior, rows: Rows, W: Array) -> dict[str, Array]:
    """Gradient of the log likelihood in the log-sd slopes, and its expected curvature 2 G'WG."""
    inv_var = np.exp(-2.0 * params.log_sigma)[:, :, None] * post.precision[:, None]
    excess = (post.r0 * (post.residual**2 * inv_var)).sum(axis=1) - 1.0
    if post.r1 is not None and post.shift is not None:
        moved = post.residual - post.shift[:, None]
        excess = excess + (post.r1 * (moved**2 * inv_var)).sum(axis=1)
    gradient = (excess * W) @ rows.G
    curvature = rows.gate_grams(2.0 * W)
    return {
        "scale_gradient": gradient,
        "scale_curvature": np.broadcast_to(curvature, (params.size, *curvature.shape[1:])),
    }


@dataclass(frozen=True, slots=True)
class Rules:
    """What the updates may do with a batch whose shapes differ in their means at most.

    shapes (B of them); floor (B,J): smallest sd of each component; constraint (B, J*p, k): stacked beta =
    constraint @ free mean parameters, or None where every slope is free.
    """

    shapes: tuple[Shape, ...]
    floor: Array
    constraint: Array | None

    @classmethod
    def of(cls, shapes: Sequence[Shape], p: int, floor: float, least: float = 0.0) -> Rules:
        """The rules of a batch with p content columns; `least` widens every floor while EM anneals.

        A regression with p slopes and hardly any width would settle on p rows and call them a component, so
        `floor` is for regressions; an atom is constant in x and may be as narrow as it is.
        """
        floors = np.array([[floor] * shape.J for shape in shapes])
        for b, shape in enumerate(shapes):
            if shape.means == "atom":
                floors[b, -1] = ATOM_FLOOR
        floors = np.maximum(floors, least)
        if all(shape.means == "own" or shape.J == 1 for shape in shapes):
            return cls(tuple(shapes), floors, None)
        maps = [mean_map(shape, p) for shape in shapes]
        width = max(m.shape[1] for m in maps)
        padded = [np.pad(m, ((0, 0), (0, width - m.shape[1]))) for m in maps]
        return cls(tuple(shapes), floors, np.stack(padded))

    def take(self, index: NDArray[np.intp]) -> Rules:
        """The rules of a part of the batch."""
        part = None if self.constraint is None else self.constraint[index]
        return Rules(tuple(self.shapes[i] for i in index), self.floor[index], part)


def mean_map(shape: Shape, p: int) -> Array:
    """The linear map from free mean parameters to the stacked betas (J*p,)."""
    J = shape.J
    if shape.means == "own" or J == 1:
        return np.eye(J * p)
    if shape.means == "atom":
        return np.eye(J * p)[:, : (J - 1) * p + 1]
    slopes = np.tile(np.eye(p)[:, 1:], (J, 1))
    intercepts = np.kron(np.eye(J), np.eye(p)[:, :1])
    return np.hstack([slopes, intercepts])


def update(params: Params, sums: Statistics, rules: Rules) -> Params:
    """One M-step: means and shift jointly, then the sds; one Newton step for gate, weights and sd slopes."""
    shape = rules.shapes[0]
    beta, a = _means(params, sums, rules)
    omega = params.omega
    if shape.J > 1:
        omega = np.zeros_like(params.omega)
        if shape.weights == "content":
            omega[:, 1:] = _newton(params.omega[:, 1:], sums.weight_gradient, sums.weight_curvature)
        else:
            share = np.maximum(sums.mass, 1e-12)
            omega[:, :, 0] = np.log(share / share[:, :1])
    scale = params.scale
    if shape.scale == "environment":
        scale = _newton(params.scale[:, None], sums.scale_gradient[:, None], sums.scale_curvature)[:, 0]
        scale[:, 0] = 0.0
    gamma = params.gamma
    if gamma is not None and shape.gate == "environment":
        gamma = _newton(gamma[:, None], sums.gate_gradient[:, None], sums.gate_curvature)[:, 0]
    elif gamma is not None:
        gamma = gamma.copy()
        gamma[:, :1] = _newton(
            gamma[:, None, :1], sums.gate_gradient[:, None, :1], sums.gate_curvature[:, :1, :1]
        )[:, 0]
    log_sigma = 0.5 * np.log(np.maximum(_variances(beta, a, sums), rules.floor**2))
    return Params(beta, log_sigma, omega, scale, a, gamma)


def _means(params: Params, sums: Statistics, rules: Rules) -> tuple[Array, Array | None]:
    """Weighted least squares for all betas and the shift at once: the shift ties the components."""
    B, J, p = params.beta.shape
    inv_var = np.exp(-2.0 * params.log_sigma)
    gram: Array = np.zeros((B, J, p, J, p))
    for j in range(J):
        gram[:, j, :, j, :] = sums.S_xx[:, j] * inv_var[:, j, None, None]
    gram = gram.reshape(B, J * p, J * p)
    rhs = (sums.S_xy * inv_var[:, :, None]).reshape(B, J * p)
    cross = None
    if sums.D_x is not None:
        cross = (sums.D_x * inv_var[:, :, None, None]).swapaxes(2, 3).reshape(B, J * p, -1)
    if rules.constraint is not None:
        to_free = rules.constraint.swapaxes(1, 2)
        gram, rhs = to_free @ gram @ rules.constraint, (to_free @ rhs[:, :, None])[:, :, 0]
        cross = None if cross is None else to_free @ cross
    k = gram.shape[1]
    if cross is not None and sums.D_d is not None and sums.D_y is not None:
        dd = (sums.D_d * inv_var[:, :, None, None]).sum(axis=1)
        dy = (sums.D_y * inv_var[:, :, None]).sum(axis=1)
        gram = np.concatenate(
            [np.concatenate([gram, cross], axis=2), np.concatenate([cross.swapaxes(1, 2), dd], axis=2)],
            axis=1,
        )
        rhs = np.concatenate([rhs, dy], axis=1)
    free = _solve(gram, rhs)
    stacked = free[:, :k] if rules.constraint is None else (rules.constraint @ free[:, :k, None])[:, :, 0]
    return stacked.reshape(B, J, p), None if params.a is None else free[:, k:]


def _variances(beta: Array, a: Array | None, sums: Statistics) -> Array:
    """Mean squared residual of each component, from the sums alone."""
    fitted = (sums.S_xx @ beta[..., None])[..., 0]
    square = sums.S_yy + (beta * (fitted - 2.0 * sums.S_xy)).sum(axis=2)
    if a is not None and sums.D_x is not None and sums.D_d is not None and sums.D_y is not None:
        moved = (sums.D_x @ beta[..., None] + 0.5 * sums.D_d @ a[:, None, :, None])[..., 0] - sums.D_y
        square = square + 2.0 * (a[:, None] * moved).sum(axis=2)
    return np.asarray(square / np.maximum(sums.mass, 1e-12))


def _newton(value: Array, gradient: Array, curvature: Array) -> Array:
    """One Newton step of a ridge-penalised logistic, softmax or log-sd model; value (B,K,p)."""
    B, K, p = value.shape
    ridge, on_diagonal = _ridge(K, p)
    flat = value.reshape(B, K * p)
    slope = gradient.reshape(B, K * p) - ridge * flat
    step = _solve(curvature + on_diagonal, slope)
    # A gate that separates perfectly has almost no curvature: a step is kept within a few logits.
    longest = np.abs(step).max(axis=1, keepdims=True)
    return (flat + step * np.minimum(1.0, 3.0 / np.maximum(longest, 1e-12))).reshape(B, K, p)


@cache
def _ridge(K: int, p: int) -> tuple[Array, Array]:
    """The ridge on K times p coefficients, none on intercepts: (K*p,), and as a diagonal matrix."""
    ridge = np.tile(np.r_[0.0, np.full(p - 1, RIDGE)], K)
    return ridge, np.diag(ridge)


def _solve(gram: Array, rhs: Array) -> Array:
    """Symmetric systems; an empty component or a padded column has a zero row and stays at zero."""
    index = np.arange(gram.shape[-1])
    diagonal = gram[:, index, index]
    scale = diagonal.max(axis=1, keepdims=True)
    gram = gram.copy()
    gram[:, index, index] += np.where(diagonal <= 1e-12 * scale, np.maximum(scale, 1e-300), 1e-12 * scale)
    return np.asarray(np.linalg.solve(gram, rhs[:, :, None])[:, :, 0])


def penalty(params: Params) -> Array:
    """The ridge part of the objective, (B,): what EM maximises is loglik - penalty."""
    total = (params.omega[:, :, 1:] ** 2).sum(axis=(1, 2)) + (params.scale[:, 1:] ** 2).sum(axis=1)
    if params.gamma is not None:
        total = total + (params.gamma[:, 1:] ** 2).sum(axis=1)
    return 0.5 * RIDGE * total


@dataclass(frozen=True, slots=True)
class Fitted:
    """A batch after EM: params; loglik (B,) at those parameters; converged (B,); n_steps EM steps taken."""

    params: Params
    loglik: Array
    converged: NDArray[np.bool_]
    n_steps: int


def total(params: Params, chunks: Chunked, shape: Shape) -> Statistics:
    """The sums over all chunks."""
    return add_up(chunks, partial(_statistics_of, params, shape))


def _statistics_of(params: Params, shape: Shape, rows: Rows) -> Statistics:
    return statistics(params, rows, shape)


def run(params: Params, chunks: Chunked, rules: Rules, max_steps: int, tol: float) -> Fitted:
    """EM with squared extrapolation (SQUAREM), a safeguard on the likelihood, and models leaving when done.

    A model has converged when a whole cycle (two EM steps and the extrapolation) moves its log likelihood
    by less than `tol`.
    """
    final = params.flat()
    loglik = np.full(params.size, -np.inf)
    converged = np.zeros(params.size, dtype=bool)
    active = np.arange(params.size)
    theta, steps = final.copy(), 0
    best = np.full(params.size, -np.inf)
    shape = rules.shapes[0]

    def step(at: Array, sub: Rules) -> tuple[Array, Array]:
        current = params.unflat(at)
        sums = total(current, mine, shape)
        return update(current, sums, sub).flat(), sums.loglik - penalty(current)

    while len(active) and steps < max_steps:
        sub = rules.take(active)
        mine = chunks
        if len(active) < params.size and not isinstance(chunks, Elsewhere):
            mine = [rows.of_models(active) for rows in chunks]
        theta1, _ = step(theta, sub)
        theta2, value1 = step(theta1, sub)
        r, v = theta1 - theta, theta2 - 2.0 * theta1 + theta
        length = np.linalg.norm(r, axis=1) / np.maximum(np.linalg.norm(v, axis=1), 1e-300)
        length = np.clip(length, 1.0, 64.0)[:, None]
        leap = theta + 2.0 * length * r + length**2 * v
        leap = np.where(np.isfinite(leap), leap, theta2)
        theta3, value = step(leap, sub)
        steps += 3
        ok = value >= value1 - 1e-9 * np.abs(value1)
        theta = np.where(ok[:, None], theta3, theta2)
        reached = np.where(ok, value, value1)
        done = np.abs(reached - best[active]) < tol
        best[active] = reached
        final[active], loglik[active], converged[active] = theta, reached, done
        theta, active = theta[~done], active[~done]
    return Fitted(params.unflat(final), loglik, converged, steps)
