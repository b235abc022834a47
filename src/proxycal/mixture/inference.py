"""From the best models to an answer: which way is up, how sure, how many, how wide."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.candidates import Candidate, ExactBias
from proxycal.mixture.designs import Spec
from proxycal.mixture.em import Rules
from proxycal.mixture.information import Sandwich, robust_information, sandwich
from proxycal.mixture.laws import Params, Rows, Shape, content_mean, posterior
from proxycal.mixture.select import floor_of
from proxycal.mixture.sums import Summed, add_up
from proxycal.mixture.thresholds import THRESHOLDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from proxycal.mixture.sums import Chunked

    Array = NDArray[np.float64]


def conclude(
    chunks: Chunked,
    codes: Sequence[NDArray[np.intp]] | None,
    bias: Candidate,
    null: Candidate,
    candidates: tuple[Candidate, ...],
    n_compared: int,
    floor: float,
) -> ExactBias:
    """The answer in the outcome's units; chunks: all rows in the frame of bias, codes: their clusters."""
    params = orient(bias.model.params, chunks)
    shape = bias.model.shape
    rules = Rules.of([shape], params.beta.shape[2], floor_of(shape, floor))
    totals = add_up(chunks, partial(_totals, params, shape))
    robust = sandwich(params, robust_information(params, chunks, shape, codes), rules, totals.weight)
    scale, L = bias.frame.scale, params.a.shape[1]
    return ExactBias(
        bias=Spec(shape, bias.frame, params),
        null=Spec(null.model.shape, null.frame, null.model.params),
        gain=null.bic - bias.bic,
        shift=params.a[0] * scale,
        shift_cov=robust.shift_gate_cov[:L, :L] * scale**2,
        gate_cov=robust.shift_gate_cov[L:, L:],
        cov=robust.cov,
        sigma=float(np.sqrt(totals.square / totals.weight)) * scale,
        cluster_sd=bias.view.tau,
        share=totals.biased / totals.weight,
        where_biased=totals.shifted / max(totals.biased, 1e-300),
        converged=_converged(bias, null, robust),
        decrement=robust.decrement,
        floor=floor,
        offset=bias.view.offset,
        n_compared=n_compared,
        labels=(shape.label, null.model.shape.label),
        sizes=_sizes(bias, candidates),
        by_level_gain=_by_level_gain(candidates),
        candidates=candidates,
    )


def _sizes(bias: Candidate, candidates: tuple[Candidate, ...]) -> tuple[tuple[float, float], ...]:
    """(BIC, alpha) of the models with a bias of one size; none where the best one has a size that varies."""
    if bias.frame.effect != "constant":
        return ()
    return tuple(
        (candidate.bic, abs(float(candidate.model.params.a[0, 0])) * candidate.frame.scale)
        for candidate in candidates
        if candidate.claims_bias and candidate.frame.effect == "constant"
    )


def _by_level_gain(candidates: tuple[Candidate, ...]) -> float:
    """BIC gain of a size by level over one size for all; NaN where only one of them was tried."""
    claims = [candidate for candidate in candidates if candidate.claims_bias]
    by_level = [candidate.bic for candidate in claims if candidate.frame.effect.startswith("by:")]
    constant = [candidate.bic for candidate in claims if candidate.frame.effect == "constant"]
    return min(constant) - min(by_level) if by_level and constant else np.nan


def _converged(bias: Candidate, null: Candidate, robust: Sandwich) -> bool:
    """Whether the comparison is settled: both models at their maximum, or one left too far behind."""
    settled = bias.model.converged and robust.definite and robust.decrement < THRESHOLDS.decrement
    if null.model.converged:
        return settled or bias.bic > null.bic + THRESHOLDS.too_far_behind
    return settled and null.bic > bias.bic + THRESHOLDS.too_far_behind


def orient(params: Params, chunks: Chunked) -> Params:
    """Of the two labellings that fit alike, (shift, A) and (-shift, 1-A), the one with the shift upward.

    The content takes up the shift when the labels swap: beta + c with X c = D a, which lies in the span of X.
    """
    if params.a is None or params.gamma is None:
        return params
    moved = add_up(chunks, partial(_moved, params.a[0]))
    # Where rows are known to be unbiased, the labels are no longer a matter of taste.
    if moved.up >= 0.0 or moved.trusted > 0.0:
        return params
    swapped = params.beta + np.linalg.solve(moved.gram, moved.rhs)
    return replace(params, beta=swapped, a=-params.a, gamma=-params.gamma)


@dataclass(frozen=True, slots=True)
class _Moved(Summed):
    """Sums over rows: up, of the shift; gram (p,p) X'WX; rhs (p,) X'W shift; trusted : how many are."""

    up: float
    gram: Array
    rhs: Array
    trusted: float


def _moved(a: Array, rows: Rows) -> _Moved:
    moved = rows.weights * (rows.D @ a)
    trusted = 0.0 if rows.trusted is None else float(rows.trusted.sum())
    return _Moved(float(moved.sum()), rows.gram[0], rows.X.T @ moved, trusted)


@dataclass(frozen=True, slots=True)
class _Totals(Summed):
    """Sums over rows: of P(A=1|data), of P(A=1|data) D (L,), of (y - shift*A - mu(x))^2, of the weights."""

    biased: float
    shifted: Array
    square: float
    weight: float


def _totals(params: Params, shape: Shape, rows: Rows) -> _Totals:
    post = posterior(params, rows, shape)
    mu = content_mean(params, rows, post)
    p, shift = post.p_biased[0], post.shift[0]
    left = (1.0 - p) * (rows.y - mu) ** 2 + p * (rows.y - mu - shift) ** 2
    W = rows.weights
    return _Totals(float(W @ p), (W * p) @ rows.D, float(W @ left), float(W.sum()))
