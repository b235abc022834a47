"""Newton's steps on the penalised log likelihood, ridge variances by Fellner and Schall, Laplace's evidence.

    f(theta) = log likelihood - (theta - centre)' S (theta - centre) / 2        S = diag of prior precisions
    evidence = f + log|S| / 2 - log|H + S| / 2                                   H = minus second derivatives
    lambda   = edf / |theta|^2,  edf = columns - lambda tr V                     V = (H + S)^-1

Each round takes a step, then renews the variances; a term whose precision runs to its ceiling is not there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from proxycal.engine.likelihood import Sums, Theta, log_likelihood, sums

if TYPE_CHECKING:
    from proxycal.engine.curvature import Factored
    from proxycal.engine.likelihood import Sample
    from proxycal.engine.model import Model

# A ridge precision from which on a term says nothing; where the variances start.
CEILING, FIRST = 1e5, 30.0
ROUNDS, STEPS = 40, 40
# Evidence still to gain below which the variances, and penalised log likelihood below which the
# coefficients, are left as they are.
CLOSE, CLOSER = 0.03, 1e-6
# Smallest precision of the effects of units.
UNIT_LEAST = 1e-2


@dataclass(frozen=True, slots=True)
class Maximum:
    """A model at its maximum.

    ridges : (groups,) and unit_ridges : (r,) precisions. factored : H + S. edf : (groups,) effective number
    of columns of each term. converged : whether the last steps gained nothing.
    """

    model: Model
    theta: Theta
    ridges: np.ndarray
    unit_ridges: np.ndarray
    loglik: float
    evidence: float
    factored: Factored
    covariance: np.ndarray
    edf: np.ndarray
    converged: bool

    def coefficients(self, predictor: str) -> np.ndarray:
        """Coefficients of a predictor."""
        return self.theta.dense[self.model.at(predictor)]


@dataclass(slots=True)
class _State:
    """Where a climb stands."""

    theta: Theta
    ridges: np.ndarray
    unit_ridges: np.ndarray
    damp: float = 0.0
    at: Sums | None = None
    gain: float = np.inf


def start(model: Model, unit_count: int = 0) -> Theta:
    """Coefficients at their prior means."""
    return Theta(model.centre.copy(), np.zeros((unit_count, len(model.with_units))))


def maximise(
    model: Model, sample: Sample, theta: Theta, ridges: np.ndarray | None = None, rounds: int = ROUNDS
) -> Maximum | None:
    """Climb from theta to a maximum; None where the likelihood has none to be found from there."""
    state = _State(
        theta,
        np.full(len(model.groups), FIRST) if ridges is None else ridges.copy(),
        np.full(len(model.with_units), 1.0),
    )
    last = -np.inf
    for _ in range(rounds):
        if not _step(model, sample, state):
            return None
        factored = _factored(model, state)
        if factored is None:
            # Not yet at a hilltop: go on climbing with the variances as they are.
            continue
        value = _evidence(model, state, factored)
        if abs(value - last) < CLOSE and state.gain < CLOSE:
            break
        last = value
        _renew(model, state, factored)
    return _finished(model, sample, state)


def _finished(model: Model, sample: Sample, state: _State) -> Maximum | None:
    """The last steps with the variances held."""
    for _ in range(STEPS):
        if not _step(model, sample, state):
            return None
        if state.gain < CLOSER:
            break
    factored = _factored(model, state)
    if factored is None:
        return None
    assert state.at is not None
    dense = factored.dense
    return Maximum(
        model,
        state.theta,
        state.ridges,
        state.unit_ridges,
        state.at.loglik,
        _evidence(model, state, factored),
        factored,
        dense,
        _edf(model, state.ridges, dense),
        bool(state.gain < 10.0 * CLOSER),
    )


def _step(model: Model, sample: Sample, state: _State) -> bool:
    """One damped step of Newton's; False where the likelihood is not finite."""
    if state.at is None:
        state.at = sums(model, sample, state.theta)
    at, S, U = state.at, model.penalty(state.ridges), state.unit_ridges
    if not np.isfinite(at.loglik):
        return False
    before = at.loglik - _penalty(model, state.theta, S, U)
    dense = at.dense - S * (state.theta.dense - model.centre)
    units = at.units - U * state.theta.units
    whole = at.curvature.plus(S, U)
    size, unit_size = whole.diagonal
    state.gain = 0.0
    for _ in range(30):
        damped = whole.plus(state.damp * (np.abs(size) + 1e-6), state.damp * (np.abs(unit_size) + 1e-6))
        factored = damped.factored()
        if factored is None:
            state.damp = max(4.0 * state.damp, 1e-2)
            continue
        move = factored.solve(dense, units)
        promised = float(dense @ move[0] + (units * move[1]).sum())
        if promised < CLOSER / 100.0:
            return True
        trial = state.theta.moved(*move)
        now = log_likelihood(model, sample, trial) - _penalty(model, trial, S, U)
        if np.isfinite(now) and now >= before - 1e-9:
            # The step was as good as the quadratic said: trust it more next time.
            state.damp = 0.0 if state.damp < 1e-4 else 0.2 * state.damp
            state.gain, state.theta, state.at = now - before, trial, sums(model, sample, trial)
            return True
        state.damp = max(8.0 * state.damp, 1e-2)
    return True


def _penalty(model: Model, theta: Theta, S: np.ndarray, U: np.ndarray) -> float:
    return 0.5 * float((S * (theta.dense - model.centre) ** 2).sum() + (U * theta.units**2).sum())


def _factored(model: Model, state: _State) -> Factored | None:
    assert state.at is not None
    return state.at.curvature.plus(model.penalty(state.ridges), state.unit_ridges).factored()


def _evidence(model: Model, state: _State, factored: Factored) -> float:
    assert state.at is not None
    S, U = model.penalty(state.ridges), state.unit_ridges
    prior = float(np.log(S).sum() + len(state.theta.units) * np.log(U).sum())
    return state.at.loglik - _penalty(model, state.theta, S, U) + 0.5 * (prior - factored.logdet)


def _edf(model: Model, ridges: np.ndarray, dense: np.ndarray) -> np.ndarray:
    spread = np.diag(dense)
    return np.array([
        group.at[1] - group.at[0] - ridge * spread[group.part].sum()
        for group, ridge in zip(model.groups, ridges, strict=True)
    ])  # fmt: skip


def _renew(model: Model, state: _State, factored: Factored) -> None:
    """New ridge precisions; a term on its way out is let go faster than its own steps would take it."""
    dense = factored.dense
    edf = _edf(model, state.ridges, dense)
    for at, group in enumerate(model.groups):
        square = float((state.theta.dense[group.part] ** 2).sum())
        wanted = max(edf[at], 1e-3) / max(square, 1e-12)
        faster = wanted / state.ridges[at]
        state.ridges[at] = np.clip(wanted * min(max(faster, 1.0), 10.0), group.least, CEILING)
    if len(state.theta.units):
        spread = np.diagonal(factored.units(dense), axis1=1, axis2=2)
        kept = len(spread) - state.unit_ridges * spread.sum(axis=0)
        square_units = (state.theta.units**2).sum(axis=0)
        state.unit_ridges = np.clip(
            np.maximum(kept, 1e-3) / np.maximum(square_units, 1e-12), UNIT_LEAST, CEILING
        )
