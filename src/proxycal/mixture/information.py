"""Observed information and the sandwich: how uncertain a mixture is, and Newton's way to its maximum."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.em import Rules, mean_map, penalty
from proxycal.mixture.laws import RIDGE, Params, Rows, Shape
from proxycal.mixture.scores import Layout, RowScores, layout_of
from proxycal.mixture.sums import Elsewhere, Summed, add_up

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from proxycal.mixture.laws import Maybe
    from proxycal.mixture.sums import Chunked

    Array = NDArray[np.float64]


# Twice the log likelihood left to gain, at a maximum: where Newton's method ends, and what is as good.
ARRIVED, NEARLY = 1e-10, 1e-6


@dataclass(frozen=True, slots=True)
class Information(Summed):
    """Sums over rows: loglik; score (m,) and hessian (m,m) of it; meat (m,m): outer products of scores."""

    loglik: float
    score: Array
    hessian: Array
    meat: Maybe = None


def information(params: Params, chunks: Chunked, shape: Shape) -> Information:
    """Sums over all rows for one model (B = 1), without the outer products: what Newton's steps need."""
    return add_up(chunks, partial(_information_of, params, shape, False))


def robust_information(
    params: Params, chunks: Chunked, shape: Shape, clusters: Sequence[NDArray[np.intp]] | None = None
) -> Information:
    """The same with outer products of scores; with clusters, scores are summed within them first."""
    if clusters is None:
        return add_up(chunks, partial(_information_of, params, shape, True))
    if isinstance(chunks, Elsewhere):
        raise TypeError("clusters need their rows in memory")
    by_cluster = np.zeros((max(int(c.max()) for c in clusters) + 1, layout_of(params, shape).size))
    for codes, rows in zip(clusters, chunks, strict=True):
        np.add.at(
            by_cluster, codes, RowScores(params, rows, shape).averaged((1.0, 1.0)) * rows.weights[:, None]
        )
    return replace(information(params, chunks, shape), meat=by_cluster.T @ by_cluster)


def _information_of(params: Params, shape: Shape, meat: bool, rows: Rows) -> Information:
    scores = RowScores(params, rows, shape)
    return Information(float(scores.post.loglik[0] @ rows.weights), *scores.sums(meat))


def biased_slope(params: Params, rows: Rows, shape: Shape) -> Array:
    """How P(A=1|y) of each row moves with the parameters, (n, m) in the order of the layout.

    A probability given the data moves with the score of its class: dp = p (1 - p) (s_1 - s_0), with s_a the
    complete-data score averaged over the classes of A = a.
    """
    scores = RowScores(params, rows, shape)
    p = scores.post.p_biased[0]
    return scores.averaged((-p, 1.0 - p))


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


@dataclass(frozen=True, slots=True)
class Step:
    """Where a step of Newton's method has led: the parameters, the sums there, and how it curves there."""

    params: Params
    info: Information
    near: Curvature


def uphill(params: Params, chunks: Chunked, rules: Rules) -> Iterator[Step]:
    """Newton's steps, from where it begins to where no part of a step leads further up.

    One pass over the rows for each step: what a step is judged by is also what the next one is made of. Where
    the likelihood curves the wrong way a step still leads up: away from a saddle, by how much it curves. How
    two components that are nearly the same share their rows can be such a direction, along which EM creeps.
    """
    shape = rules.shapes[0]
    layout = layout_of(params, shape)
    info = information(params, chunks, shape)
    while True:
        near = curvature(params, info, rules)
        yield Step(params, info, near)
        value = info.loglik - float(penalty(params)[0])
        step = near.to_full @ (near.inverse @ near.score)
        for part in (1.0, 0.5, 0.25, 0.1, 0.04):
            moved = from_vector(to_vector(params, shape, layout) + part * step, params, shape, layout)
            moved = replace(moved, log_sigma=np.maximum(moved.log_sigma, np.log(rules.floor)))
            info = information(moved, chunks, shape)
            if info.loglik - float(penalty(moved)[0]) >= value - 1e-9 * abs(value):
                break
        else:
            return
        params = moved


def newton(
    params: Params, chunks: Chunked, rules: Rules, max_steps: int = 8, past_saddles: bool = False
) -> tuple[Params, bool]:
    """A few Newton steps to the maximum next to where EM has come; False where there is none next to it.

    past_saddles: continue at a saddle, where the likelihood curves upward in some direction.
    """
    for taken, at in enumerate(uphill(params, chunks, rules)):
        params, definite = at.params, at.near.definite
        if not definite and not past_saddles:
            return params, False
        if at.near.decrement < ARRIVED or taken == max_steps:
            return params, definite and at.near.decrement < NEARLY
    return params, False


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
