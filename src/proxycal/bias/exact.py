"""The exact estimator: a binary bias is marginalised, not sampled.

    y, P, E -> features -> race of shapes with and without a gated shift -> polish on all rows -> alpha, P(A=1)

The race runs on a sample of the rows; the best of each side are then fitted to all of them and compared
there. Units, the direction of the bias and the order of the rows change nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.bias.designs import Data, Frame, Spec, candidate_frames, canonical_order, pieces
from proxycal.bias.em import Rules, penalty, run
from proxycal.bias.features import fit_basis
from proxycal.bias.information import information, sandwich
from proxycal.bias.mixture import Params, Posterior, Rows, posterior
from proxycal.bias.race import FLOOR, MAX_J, Entrant, bic, choose_features, race, race_by_level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

RACE_ROWS = 2000
MAX_LEVELS = 8


@dataclass(frozen=True, slots=True)
class Runner:
    """An entrant of the race with the frame it ran in."""

    frame: Frame
    entrant: Entrant


@dataclass(frozen=True, slots=True)
class ExactBias:
    """The answer of the race, fitted to all rows.

    bias, null: the best model with and without a bias; gain: BIC(null) - BIC(bias), deflated by the design
    effect of clusters (raw_gain: before); shift (L,), shift_cov (L,L): coefficients of the shift, in the
    outcome's units; gate, gate_cov: of pi(E) in the frame's gate features; sigma: residual sd; share: mean of
    P(A=1|data); decrement: log likelihood left to gain; runners: the whole race, best first.
    """

    bias: Spec
    null: Spec
    gain: float
    raw_gain: float
    design_effect: float
    shift: Array
    shift_cov: Array
    gate_cov: Array
    sigma: float
    share: float
    converged: bool
    decrement: float
    n_race: int
    runners: tuple[Runner, ...]


def fit_exact(
    data: Data, effect: str = "constant", max_j: int = MAX_J, race_rows: int = RACE_ROWS, seed: int = 0
) -> ExactBias:
    """Race, polish and compare; `data.y` is already turned so that the bias is upward."""
    data = data.take(canonical_order(data))
    n = len(data.y)
    sample = data
    if n > race_rows:
        sample = data.take(np.sort(np.random.default_rng(seed).permutation(n)[:race_rows]))
    runners = _run_race(data, sample, effect, max_j)
    finalists = _finalists(runners, whole=n <= race_rows)
    finals = [_polish(runner, data) for runner in finalists]
    bias = min((f for f in finals if f.entrant.shape.claims_bias), key=lambda f: f.entrant.bic)
    null = min((f for f in finals if not f.entrant.shape.claims_bias), key=lambda f: f.entrant.bic)
    return _conclude(data, bias, null, tuple(runners), len(sample.y))


def _run_race(data: Data, sample: Data, effect: str, max_j: int) -> list[Runner]:
    """Every model tried on the sample, best BIC first: with linear content, and with the best other content."""
    frames = candidate_frames(data, effect)
    proxies = fit_basis(data.P, np.zeros(data.P.shape[1], bool), data.weights)(sample.P)
    chosen = choose_features({name: frame.rows(sample) for name, frame in frames.items()}, proxies)
    runners = []
    for name in dict.fromkeys(["linear", chosen]):
        frame = frames[name]
        entrants = race(frame.rows(sample), proxies, max_j)
        runners += [Runner(frame, e) for e in entrants]
        for column, codes in (data.levels or {}).items():
            n_levels = int(codes.max()) + 1
            if effect == "constant" and 2 <= n_levels <= MAX_LEVELS:
                by = replace(frame, effect=f"by:{column}", n_levels=n_levels)
                found = race_by_level(by.rows(sample), frame.rows(sample), proxies, entrants)
                runners += [Runner(by, e) for e in found]
    return sorted(runners, key=lambda r: r.entrant.bic)


def _finalists(runners: list[Runner], whole: bool) -> list[Runner]:
    """The best two of each side; one will do where the race already saw all rows and the next is far behind."""
    out = []
    for claims in (True, False):
        side = [r for r in runners if r.entrant.shape.claims_bias == claims]
        second = [r for r in side[1:2] if not whole or r.entrant.bic < side[0].entrant.bic + 6.0]
        out += [side[0], *second]
    return out


def _polish(runner: Runner, data: Data) -> Runner:
    """One model fitted to all rows, to convergence."""
    e, chunks = runner.entrant, runner.frame.chunks(data)
    rules = Rules.of([e.shape], chunks[0].X.shape[1], FLOOR)
    fitted = run(e.params, chunks, rules, max_steps=2000, tol=1e-7)
    loglik = float(fitted.loglik[0] + penalty(fitted.params)[0])
    value = bic(e.shape, loglik, chunks[0], float(data.weights.sum()))
    return Runner(runner.frame, Entrant(e.shape, fitted.params, loglik, value, bool(fitted.converged[0])))


def _conclude(data: Data, bias: Runner, null: Runner, runners: tuple[Runner, ...], n_race: int) -> ExactBias:
    """Uncertainty and evidence of the winner, in the outcome's units."""
    chunks = bias.frame.chunks(data)
    params = orient(bias.entrant.params, chunks)
    shape, n = bias.entrant.shape, float(data.weights.sum())
    plain = information(params, chunks, shape)
    robust = sandwich(params, plain, shape, FLOOR, n)
    raw_gain = null.entrant.bic - bias.entrant.bic
    gain, deff = raw_gain, 1.0
    if data.cluster is not None:
        codes = [data.cluster[index] for index in pieces(len(data.y))]
        clustered = sandwich(params, information(params, chunks, shape, codes), shape, FLOOR, n)
        deff = _design_effect(robust.shift_gate_cov, clustered.shift_gate_cov)
        robust = clustered
        # Rows of a cluster repeat each other: the gain in likelihood counts once per independent piece.
        likelihood = 2.0 * (bias.entrant.loglik - null.entrant.loglik)
        n_extra = (likelihood - raw_gain) / np.log(n)
        gain = likelihood / deff - n_extra * np.log(n / deff)
    posteriors = [posterior(params, rows, shape) for rows in chunks]
    scale, L = bias.frame.scale, params.a.shape[1]  # type: ignore[union-attr]
    return ExactBias(
        bias=Spec(shape, bias.frame, params),
        null=Spec(null.entrant.shape, null.frame, null.entrant.params),
        gain=float(gain),
        raw_gain=float(raw_gain),
        design_effect=deff,
        shift=params.a[0] * scale,  # type: ignore[index]
        shift_cov=robust.shift_gate_cov[:L, :L] * scale**2,
        gate_cov=robust.shift_gate_cov[L:, L:],
        sigma=_residual_sd(params, chunks, posteriors) * scale,
        share=float(
            sum((p.p_biased[0] * r.weights).sum() for p, r in zip(posteriors, chunks, strict=True)) / n  # type: ignore[index]
        ),
        converged=bias.entrant.converged and null.entrant.converged and robust.definite and robust.decrement < 1e-2,
        decrement=robust.decrement,
        n_race=n_race,
        runners=runners,
    )


def _design_effect(plain: Array, clustered: Array) -> float:
    """How much clusters inflate the variance of shift and gate, on average over directions; at least 1."""
    return max(1.0, float(np.trace(np.linalg.solve(plain, clustered)) / len(plain)))


def orient(params: Params, chunks: Sequence[Rows]) -> Params:
    """Of the two labellings that fit alike, (shift, A) and (-shift, 1-A), the one with the shift upward.

    The content takes up the shift when the labels swap: beta + c with X c = D a, which lies in the span of X.
    """
    if params.a is None or params.gamma is None:
        return params
    moved = [params.a[0] @ rows.D.T for rows in chunks]
    weight = sum(rows.weights.sum() for rows in chunks)
    if sum((m * rows.weights).sum() for m, rows in zip(moved, chunks, strict=True)) >= 0.0:
        return params
    gram = sum(rows.gram[0] for rows in chunks) / weight
    rhs = sum(rows.X.T @ (rows.weights * m) for m, rows in zip(moved, chunks, strict=True)) / weight
    beta = params.beta + np.linalg.solve(gram, rhs)
    return replace(params, beta=beta, a=-params.a, gamma=-params.gamma)


def _residual_sd(params: Params, chunks: Sequence[Rows], posteriors: Sequence[Posterior]) -> float:
    """sd of y - shift*A around the fitted content mu(x), standardised units."""
    square = total = 0.0
    for rows, post in zip(chunks, posteriors, strict=True):
        mu = content_mean(params, rows, post)
        p, shift = post.p_biased[0], post.shift[0]  # type: ignore[index]
        left = (1.0 - p) * (rows.y - mu) ** 2 + p * (rows.y - mu - shift) ** 2
        square += float((rows.weights * left).sum())
        total += float(rows.weights.sum())
    return float(np.sqrt(square / total))


def content_mean(params: Params, rows: Rows, post: Posterior) -> Array:
    """mu(x) = sum_j w_j(x) x' beta_j of one model, (n,): E[y_obs | do(A=0)] in standardised units."""
    return np.asarray((np.exp(post.log_w[0]) * (params.beta[0] @ rows.X.T)).sum(axis=0))
