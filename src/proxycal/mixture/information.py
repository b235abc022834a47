"""Scores, observed information and the sandwich: how uncertain a fitted mixture is.

For a class c = (A, j) of a row the complete-data score is s_c and its Hessian H_c. With posterior weights r_c
the row's observed score and Hessian are (Louis 1982)

    s = sum_c r_c s_c,      H = sum_c r_c (H_c + s_c s_c') - s s'

All of s_c, H_c are products of the row's designs: d_c for the mean (x in the block of component j, and A*D)
and k_c for the log sd (the component's indicator, and G).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.em import Rules, mean_map, penalty
from proxycal.mixture.laws import RIDGE, Params, Posterior, Rows, Shape, posterior
from proxycal.mixture.sums import Elsewhere, Summed, add_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from proxycal.mixture.sums import Chunked

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each block stands in the full parameter vector of one model.

    mean: J*p betas then L shifts; scale: J log sds then q-1 slopes; weight: (J-1) blocks; gate.
    """

    mean: slice
    shift: slice
    scale: slice
    weight: slice
    gate: slice
    size: int

    @classmethod
    def of(cls, shape: Shape, p: int, q: int, L: int) -> Layout:
        """The layout of a shape."""
        widths = [
            shape.J * p,
            L if shape.shift else 0,
            shape.J + (q - 1 if shape.scale == "environment" else 0),
            (shape.J - 1) * (p if shape.weights == "content" else 1),
            (q if shape.gate == "environment" else 1) if shape.shift else 0,
        ]
        ends = np.cumsum([0, *widths])
        parts = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        mean, shift, scale, weight, gate = parts
        return cls(mean, shift, scale, weight, gate, int(ends[-1]))


@dataclass(frozen=True, slots=True)
class Information(Summed):
    """Sums over rows: loglik; score (m,) and hessian (m,m) of it; meat (m,m): outer products of scores."""

    loglik: float
    score: Array
    hessian: Array
    meat: Array


def layout_of(params: Params, shape: Shape) -> Layout:
    """Where the parameters of a model stand in the vectors of `Information`."""
    L = 0 if params.a is None else params.a.shape[1]
    return Layout.of(shape, params.beta.shape[2], params.scale.shape[1], L)


def information(
    params: Params, chunks: Chunked, shape: Shape, clusters: Sequence[NDArray[np.intp]] | None = None
) -> Information:
    """Sums over all rows for one model (B = 1); with clusters, scores are summed within them first."""
    if clusters is None:
        return add_up(chunks, partial(_information_of, params, shape))
    if isinstance(chunks, Elsewhere):
        raise TypeError("clusters need their rows in memory")
    layout = layout_of(params, shape)
    by_cluster = np.zeros((max(int(c.max()) for c in clusters) + 1, layout.size))
    loglik, hessian = 0.0, np.zeros((layout.size, layout.size))
    for codes, rows in zip(clusters, chunks, strict=True):
        post = posterior(params, rows, shape)
        scores, chunk_hessian = _chunk(params, rows, shape, layout, post)
        loglik += float(post.loglik[0] @ rows.weights)
        hessian += chunk_hessian
        np.add.at(by_cluster, codes, scores * rows.weights[:, None])
    return Information(loglik, by_cluster.sum(axis=0), hessian, by_cluster.T @ by_cluster)


def _information_of(params: Params, shape: Shape, rows: Rows) -> Information:
    post = posterior(params, rows, shape)
    scores, hessian = _chunk(params, rows, shape, layout_of(params, shape), post)
    weighted = scores * rows.weights[:, None]
    return Information(
        float(post.loglik[0] @ rows.weights), weighted.sum(axis=0), hessian, scores.T @ weighted
    )


def _chunk(params: Params, rows: Rows, shape: Shape, layout: Layout, post: Posterior) -> tuple[Array, Array]:
    """Per-row observed scores (n,m) and the summed Hessian (m,m) of one chunk."""
    n = len(rows.y)
    W = rows.weights
    scores = np.zeros((n, layout.size))
    hessian = np.zeros((layout.size, layout.size))
    w = np.broadcast_to(np.exp(post.log_w[0]), (shape.J, n))
    features = rows.X if shape.weights == "content" else rows.X[:, :1]
    gate = rows.G if shape.gate == "environment" else rows.G[:, :1]
    p = rows.X.shape[1]
    for a in (0, 1) if shape.shift else (0,):
        for j in range(shape.J):
            # The slopes of the other components are zero in all that follows.
            used = np.r_[j * p : (j + 1) * p, layout.shift.start : layout.size]
            means = used[used < layout.shift.stop]
            r = (post.r1 if a else post.r0)[0, j] * W
            s, mean, scale, rho, kappa, inv_var = _class(params, rows, shape, layout, post, a, j)
            s[:, layout.weight] = _weight_score(w, features, j)
            if shape.shift:
                s[:, layout.gate] = (a - post.pi[0])[:, None] * gate
            s, mean, block_s = s[:, used], mean[:, means], layout.scale
            scores[:, used] += s * (r / W)[:, None]
            hessian[np.ix_(used, used)] += s.T @ (s * r[:, None])
            hessian[np.ix_(means, means)] -= mean.T @ (mean * (r * inv_var)[:, None])
            cross = 2.0 * mean.T @ (scale * (r * rho)[:, None])
            hessian[means, block_s] -= cross
            hessian[block_s, means] -= cross.T
            hessian[block_s, block_s] -= 2.0 * scale.T @ (scale * (r * kappa)[:, None])
    hessian -= scores.T @ (scores * W[:, None])
    for k in range(shape.J - 1):
        for m in range(shape.J - 1):
            curvature = w[k + 1] * ((k == m) - w[m + 1]) * W
            width = features.shape[1]
            at = layout.weight.start
            part = (slice(at + k * width, at + (k + 1) * width), slice(at + m * width, at + (m + 1) * width))
            hessian[part] -= features.T @ (features * curvature[:, None])
    if shape.shift:
        pi = post.pi[0]
        hessian[layout.gate, layout.gate] -= gate.T @ (gate * (pi * (1.0 - pi) * W)[:, None])
    return scores, hessian


def _class(
    params: Params, rows: Rows, shape: Shape, layout: Layout, post: Posterior, a: int, j: int
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Score of class (a, j) so far (mean and scale blocks), its designs, and rho, kappa, 1/variance."""
    n, p = rows.X.shape
    residual = post.residual[0, j]
    inv_var = np.full(n, np.exp(-2.0 * params.log_sigma[0, j]))
    if post.precision is not None:
        inv_var = inv_var * post.precision[0]
    mean = np.zeros((n, layout.shift.stop))
    mean[:, j * p : (j + 1) * p] = rows.X
    if a:
        residual = residual - post.shift[0]
        mean[:, layout.shift] = rows.D
    scale = np.zeros((n, layout.scale.stop - layout.scale.start))
    scale[:, j] = 1.0
    if shape.scale == "environment":
        scale[:, shape.J :] = rows.G[:, 1:]
    rho, kappa = residual * inv_var, residual * residual * inv_var
    s = np.zeros((n, layout.size))
    s[:, : layout.shift.stop] = rho[:, None] * mean
    s[:, layout.scale] = (kappa - 1.0)[:, None] * scale
    return s, mean, scale, rho, kappa, inv_var


def biased_slope(params: Params, rows: Rows, shape: Shape) -> Array:
    """How P(A=1|y) of each row moves with the parameters, (n, m) in the order of the layout.

    A probability given the data moves with the score of its class: dp = p (1 - p) (s_1 - s_0), with s_a the
    complete-data score averaged over the classes of A = a.
    """
    layout, post = layout_of(params, shape), posterior(params, rows, shape)
    p, n = post.p_biased[0], len(rows.y)
    w = np.broadcast_to(np.exp(post.log_w[0]), (shape.J, n))
    features = rows.X if shape.weights == "content" else rows.X[:, :1]
    gate = rows.G if shape.gate == "environment" else rows.G[:, :1]
    slope = np.zeros((n, layout.size))
    for a, r, other in ((1, post.r1[0], 1.0 - p), (0, post.r0[0], -p)):
        for j in range(shape.J):
            s = _class(params, rows, shape, layout, post, a, j)[0]
            s[:, layout.weight] = _weight_score(w, features, j)
            s[:, layout.gate] = (a - post.pi[0])[:, None] * gate
            slope += s * (r[j] * other)[:, None]
    return slope


def _weight_score(w: Array, features: Array, j: int) -> Array:
    """(1{k=j} - w_k(x)) x for the components k > 0, (n, (J-1)*width)."""
    parts = [((k == j) - w[k])[:, None] * features for k in range(1, len(w))]
    return np.hstack(parts) if parts else np.empty((len(features), 0))


@dataclass(frozen=True, slots=True)
class Curvature:
    """The penalised log likelihood around given parameters, in the free parameters alone.

    to_full (m,k): free -> full (shared slopes, atoms and widths at the floor are not free); score (k,);
    inverse (k,k) of minus the Hessian, its eigenvalues without their sign; decrement: log likelihood left to
    gain, twice; definite: whether the Hessian is that of a maximum.
    """

    to_full: Array
    score: Array
    inverse: Array
    decrement: float
    definite: bool


def curvature(params: Params, info: Information, rules: Rules) -> Curvature:
    """Score and inverse curvature of one model in its free parameters."""
    shape = rules.shapes[0]
    layout, p = layout_of(params, shape), params.beta.shape[2]
    tied = mean_map(shape, p)
    keep = np.ones(layout.size, dtype=bool)
    keep[layout.mean] = False
    at_floor = params.log_sigma[0] <= np.log(rules.floor[0]) + 1e-6
    keep[layout.scale.start : layout.scale.start + shape.J] = ~at_floor
    below = np.zeros((layout.size - tied.shape[0], tied.shape[1]))
    to_full = np.hstack([np.vstack([tied, below]), np.eye(layout.size)[:, keep]])
    ridge = np.zeros(layout.size)
    width = p if shape.weights == "content" else 1
    ridge[layout.weight] = np.tile(np.r_[0.0, np.full(width - 1, RIDGE)], shape.J - 1)
    ridge[layout.scale.start + shape.J : layout.scale.stop] = RIDGE
    if shape.shift and shape.gate == "environment":
        ridge[layout.gate.start + 1 : layout.gate.stop] = RIDGE
    theta = to_vector(params, shape, layout)
    bread = to_full.T @ (np.diag(ridge) - info.hessian) @ to_full
    score = to_full.T @ (info.score - ridge * theta)
    values, vectors = np.linalg.eigh(bread)
    # Where this is no maximum, a direction that curves the wrong way says how far, if not which way: as a
    # flat one it would make an interval of plus or minus thousands.
    sizes = np.abs(values)
    inverse = (vectors / np.maximum(sizes, 1e-10 * sizes.max())) @ vectors.T
    return Curvature(to_full, score, inverse, float(score @ inverse @ score), bool(values.min() > 0.0))


@dataclass(frozen=True, slots=True)
class Sandwich:
    """Robust covariance.

    cov : (m, m) of all parameters, in the order of the layout. shift_gate_cov : (L+q, L+q) the part of the
    shift and then the gate coefficients. decrement and definite as in `Curvature`.
    """

    cov: Array
    shift_gate_cov: Array
    decrement: float
    definite: bool


def sandwich(params: Params, info: Information, rules: Rules, n: float) -> Sandwich:
    """H^-1 M H^-1 in the free parameters, with the usual correction for their number."""
    layout, at = layout_of(params, rules.shapes[0]), curvature(params, info, rules)
    correction = n / max(n - at.to_full.shape[1], 1.0)
    middle = at.to_full.T @ info.meat @ at.to_full
    cov = at.to_full @ at.inverse @ middle @ at.inverse @ at.to_full.T * correction
    wanted = np.r_[np.arange(layout.size)[layout.shift], np.arange(layout.size)[layout.gate]]
    return Sandwich(cov, cov[np.ix_(wanted, wanted)], at.decrement, at.definite)


def newton(
    params: Params,
    chunks: Chunked,
    rules: Rules,
    max_steps: int = 8,
    info: Information | None = None,
    past_saddles: bool = False,
) -> tuple[Params, bool]:
    """A few Newton steps to the maximum next to where EM has come; False where there is none next to it.

    One pass over the rows for each step: what a step is judged by is also what the next one is made of.
    info: the sums at the parameters given, where they are known. past_saddles: go on uphill where the
    likelihood curves the wrong way, for where EM has crept as far as it would come: how two components that
    are nearly the same share their rows can be such a direction, of which the bias knows nothing.
    """
    shape = rules.shapes[0]
    layout = layout_of(params, shape)
    info = information(params, chunks, shape) if info is None else info
    for _ in range(max_steps):
        at = curvature(params, info, rules)
        if not at.definite and not past_saddles:
            return params, False
        if at.decrement < 1e-10:
            return params, at.definite
        value = info.loglik - float(penalty(params)[0])
        step = at.to_full @ (at.inverse @ at.score)
        for part in (1.0, 0.5, 0.25, 0.1, 0.04):
            moved = from_vector(to_vector(params, shape, layout) + part * step, params, shape, layout)
            moved = replace(moved, log_sigma=np.maximum(moved.log_sigma, np.log(rules.floor)))
            info = information(moved, chunks, shape)
            if info.loglik - float(penalty(moved)[0]) >= value - 1e-9 * abs(value):
                break
        else:
            return params, False
        params = moved
    return params, at.definite and at.decrement < 1e-6


def to_vector(params: Params, shape: Shape, layout: Layout) -> Array:
    """One model's parameters in the order of the layout."""
    theta = np.zeros(layout.size)
    theta[layout.mean] = params.beta[0].ravel()
    theta[layout.scale] = np.r_[params.log_sigma[0], params.scale[0, 1:]][
        : layout.scale.stop - layout.scale.start
    ]
    width = params.omega.shape[2] if shape.weights == "content" else 1
    theta[layout.weight] = params.omega[0, 1:, :width].ravel()
    if params.a is not None and params.gamma is not None:
        theta[layout.shift] = params.a[0]
        theta[layout.gate] = params.gamma[0, : layout.gate.stop - layout.gate.start]
    return theta


def from_vector(theta: Array, like: Params, shape: Shape, layout: Layout) -> Params:
    """The reverse of `to_vector`."""
    J, p = like.beta.shape[1:]
    scale, omega = like.scale.copy(), np.zeros_like(like.omega)
    widths = theta[layout.scale]
    if shape.scale == "environment":
        scale[0, 1:] = widths[J:]
    if J > 1:
        blocks = theta[layout.weight].reshape(J - 1, -1)
        omega[0, 1:, : blocks.shape[1]] = blocks
    gamma = None if like.gamma is None else like.gamma.copy()
    if gamma is not None:
        gamma[0, : layout.gate.stop - layout.gate.start] = theta[layout.gate]
    return Params(
        beta=theta[layout.mean].reshape(1, J, p),
        log_sigma=widths[None, :J],
        omega=omega,
        scale=scale,
        a=None if like.a is None else theta[layout.shift][None],
        gamma=gamma,
    )
