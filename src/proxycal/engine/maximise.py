"""Newton's steps on the penalised log likelihood, ridge variances by Fellner and Schall, Laplace's evidence.

    f(theta) = log likelihood - (theta - centre)' S (theta - centre) / 2        S = diag of prior precisions
    evidence = f + log|S| / 2 - log|H + S| / 2                                   H = minus second derivatives
    lambda   = edf / |theta|^2,  edf = columns - lambda tr V                     V = (H + S)^-1

Each round takes a step, then renews the variances; a term whose precision runs to its ceiling is not there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.engine.likelihood import Sums, Theta, sums

if TYPE_CHECKING:
    from collections.abc import Iterable

    from proxycal.engine.curvature import Factored
    from proxycal.engine.likelihood import Elsewhere, Sample
    from proxycal.engine.model import Model

# A ridge precision from which on a term says nothing; where the variances start.
CEILING, FIRST = 1e5, 30.0
ROUNDS, STEPS = 25, 25
# Evidence still to gain below which the variances, and penalised log likelihood below which the
# coefficients, are left as they are.
CLOSE, CLOSER = 0.03, 1e-6
# How often sleeping terms are asked whether they wake; what they must promise, as a part of their curvature.
WAKES, WAKING = 3, 0.02
# Rounds after which a start that is so much evidence behind another is given up.
EARLY, BEHIND = 2, 100.0
# Smallest precision of the effects of units.
UNIT_LEAST = 1e-2


@dataclass(frozen=True, slots=True)
class Maximum:
    """A model at its maximum.

    theta : coefficients; 0 for terms that are not there. ridges : (groups,) and unit_ridges : (r,)
    precisions. covariance : (k, k) and unit_covariance : (U, r, r) of the coefficients. edf : (groups,)
    effective number of columns of each term. converged : whether the last step gained nothing.
    """

    model: Model
    theta: Theta
    ridges: np.ndarray
    unit_ridges: np.ndarray
    loglik: float
    evidence: float
    covariance: np.ndarray
    unit_covariance: np.ndarray
    edf: np.ndarray
    converged: bool

    def awake(self) -> Maximum:
        """The same without the terms that are not there."""
        there = self.ridges < CEILING
        held = np.ones(self.model.width, dtype=bool)
        for group, kept in zip(self.model.groups, there, strict=True):
            held[group.part] = kept
        return replace(
            self,
            model=self.model.only(there),
            theta=Theta(self.theta.dense[held], self.theta.units),
            ridges=self.ridges[there],
            covariance=self.covariance[np.ix_(held, held)],
            edf=self.edf[there],
        )

    def coefficients(self, predictor: str) -> np.ndarray:
        """Coefficients of a predictor."""
        return self.theta.dense[self.model.at(predictor)]


def start(model: Model, unit_count: int = 0) -> Theta:
    """Coefficients at their prior means."""
    return Theta(model.centre.copy(), np.zeros((unit_count, len(model.with_units))))


def maximise(
    model: Model,
    sample: Sample | Elsewhere,
    theta: Theta,
    ridges: np.ndarray | None = None,
    rounds: int = ROUNDS,
) -> Maximum | None:
    """Climb from theta to a maximum; None where the likelihood has none to be found from there.

    Terms at the ceiling of their precision sleep: they cost nothing until the rest stands, and then wake if
    a little of them would raise the evidence.
    """
    ridges = np.full(len(model.groups), FIRST) if ridges is None else ridges
    climb = _Climb(model, sample, theta, ridges.copy())
    for _ in range(WAKES):
        if not climb.run(rounds):
            return None
        if rounds < ROUNDS or not climb.wake():
            break
    return climb.finished()


def leading(
    model: Model,
    sample: Sample,
    starts: Iterable[tuple[Theta, np.ndarray]],
    rounds: int,
    behind: float = BEHIND,
) -> Maximum | None:
    """The best, after some rounds, of several starts (coefficients and ridges); None where all fail.

    behind : how far behind the best a start is given up early.
    """
    climbs = [_Climb(model, sample, theta, ridges.copy()) for theta, ridges in starts]
    early = min(EARLY, rounds) if len(climbs) > 1 else rounds
    at = [(climb, climb.height()) for climb in climbs if climb.run(early)]
    top = max((height for _, height in at), default=-np.inf)
    if early < rounds:
        kept = [climb for climb, height in at if height >= top - behind]
        at = [(climb, climb.height()) for climb in kept if climb.run(rounds - early)]
    return max(at, key=lambda each: each[1])[0].finished() if at else None


class _Climb:
    """Where a climb stands: the whole model, and the part of it that is awake."""

    def __init__(self, model: Model, sample: Sample | Elsewhere, theta: Theta, ridges: np.ndarray) -> None:
        self.model, self.sample, self.theta, self.ridges = model, sample, theta, ridges
        self.unit_ridges = np.ones(len(model.with_units))
        self.damp, self.gain = 0.0, np.inf
        self.doze()

    def doze(self) -> None:
        """Put terms at the ceiling to sleep."""
        self.awake = self.ridges < CEILING
        self.kept = np.ones(self.model.width, dtype=bool)
        for group, awake in zip(self.model.groups, self.awake, strict=True):
            self.kept[group.part] = awake
        dense = np.where(self.kept, self.theta.dense, 0.0)
        self.theta = Theta(dense, self.theta.units)
        self.small = self.model.only(self.awake)
        self.part = self.sample.only(np.split(self.kept, self.model.ends[1:-1]))
        self.at: Sums | None = None

    @property
    def own(self) -> Theta:
        """Coefficients that are awake."""
        return Theta(self.theta.dense[self.kept], self.theta.units)

    def move(self, to: Theta) -> None:
        """Take new coefficients of what is awake."""
        dense = self.theta.dense.copy()
        dense[self.kept] = to.dense
        self.theta = Theta(dense, to.units)

    @property
    def precision(self) -> np.ndarray:
        """Prior precision of what is awake."""
        return self.small.penalty(self.ridges[self.awake])

    def run(self, rounds: int) -> bool:
        """Steps and new variances in turn, then steps with the variances held; False if there is no way."""
        last, self.gain = -np.inf, np.inf
        for _ in range(rounds):
            if not self.step():
                return False
            factored = self.factored()
            if factored is None:
                # Not yet at a hilltop: go on climbing with the variances as they are.
                continue
            value = self.evidence(factored)
            if abs(value - last) < CLOSE and self.gain < CLOSE:
                break
            last = value
            self.renew(factored)
        for _ in range(STEPS if rounds == ROUNDS else 0):
            if not self.step():
                return False
            if self.gain < CLOSER:
                break
        return True

    def step(self) -> bool:
        """One damped step of Newton's; False where the likelihood is not finite."""
        at, S, U, theta = self.here(), self.precision, self.unit_ridges, self.own
        if not np.isfinite(at.loglik):
            return False
        before = at.loglik - _penalty(self.small, theta, S, U)
        dense = at.dense - S * (theta.dense - self.small.centre)
        units = at.units - U * theta.units
        whole = at.curvature.plus(S, U)
        size, unit_size = whole.diagonal
        self.gain = 0.0
        for _ in range(30):
            extra = self.damp * (np.abs(size) + 1e-6), self.damp * (np.abs(unit_size) + 1e-6)
            factored = whole.plus(*extra).factored() if self.damp else whole.factored()
            if factored is None:
                self.damp = max(4.0 * self.damp, 1e-2)
                continue
            move = factored.solve(dense, units)
            promised = float(dense @ move[0] + (units * move[1]).sum())
            if promised < CLOSER / 100.0:
                return True
            trial = theta.moved(*move)
            found = sums(self.small, self.part, trial)
            now = found.loglik - _penalty(self.small, trial, S, U)
            if np.isfinite(now) and now >= before - 1e-9:
                # The step was as good as the quadratic said: trust it more next time.
                self.damp = 0.0 if self.damp < 1e-3 else 0.1 * self.damp
                self.gain, self.at = now - before, found
                self.move(trial)
                return True
            self.damp = max(8.0 * self.damp, 1e-2)
        return True

    def here(self) -> Sums:
        """The sums over all rows at the present coefficients."""
        if self.at is None:
            self.at = sums(self.small, self.part, self.own)
        return self.at

    def factored(self) -> Factored | None:
        """The factors of H + S; None where it is not positive definite."""
        return self.here().curvature.plus(self.precision, self.unit_ridges).factored()

    def evidence(self, factored: Factored) -> float:
        """Laplace's evidence; what sleeps adds nothing."""
        S, U, theta = self.precision, self.unit_ridges, self.own
        prior = float(np.log(S).sum() + len(theta.units) * np.log(U).sum())
        return self.here().loglik - _penalty(self.small, theta, S, U) + 0.5 * (prior - factored.logdet)

    def renew(self, factored: Factored) -> None:
        """New ridge precisions; a term on its way out is let go faster than its own steps would take it."""
        covariance, theta = factored.dense, self.own
        edf = _edf(self.small, self.ridges[self.awake], covariance)
        ridges = self.ridges[self.awake]
        for at, group in enumerate(self.small.groups):
            square = float((theta.dense[group.part] ** 2).sum())
            wanted = max(edf[at], 1e-3) / max(square, 1e-12)
            faster = min(max(wanted / ridges[at], 1.0), 10.0)
            ridges[at] = np.clip(wanted * faster, group.least, CEILING)
        self.ridges[self.awake] = ridges
        if len(theta.units):
            spread = np.diagonal(factored.units(covariance), axis1=1, axis2=2)
            kept = len(spread) - self.unit_ridges * spread.sum(axis=0)
            wanted_units = np.maximum(kept, 1e-3) / np.maximum((theta.units**2).sum(axis=0), 1e-12)
            self.unit_ridges = np.clip(wanted_units, UNIT_LEAST, CEILING)
        if np.any(ridges >= CEILING):
            self.doze()

    def wake(self) -> bool:
        """Whether some sleeping terms would raise the evidence; they wake with a small variance.

        At a variance v near 0 the evidence rises by v/2 (g'g - tr C), with g the gradient of the term and C
        its curvature once the rest has moved along.
        """
        if self.awake.all():
            return False
        whole, factored = sums(self.model, self.sample, self.theta), self.factored()
        if factored is None:
            return False
        A, sleeping = whole.curvature.A, ~self.kept
        across = A[np.ix_(self.kept, sleeping)]
        back = factored.before(across)
        left = np.diag(A)[sleeping] - (across * back).sum(axis=0)
        value = np.zeros(self.model.width)
        value[sleeping] = whole.dense[sleeping] ** 2 - np.maximum(left, 0.0)
        woken = False
        for at, group in enumerate(self.model.groups):
            if not self.awake[at] and value[group.part].sum() > WAKING * np.abs(np.diag(A)[group.part]).sum():
                self.ridges[at], woken = CEILING / 100.0, True
        if woken:
            self.doze()
        return woken

    def settled(self) -> Factored | None:
        """The factors of H + S; on the way up they are damped until they are those of a hilltop."""
        factored, damp = self.factored(), 0.1
        while factored is None and damp < 1e3:
            dense, units = self.here().curvature.diagonal
            extra = self.precision + damp * np.abs(dense), self.unit_ridges + damp * np.abs(units)
            factored, damp = self.here().curvature.plus(*extra).factored(), 4.0 * damp
        return factored

    def height(self) -> float:
        """The evidence where the climb stands."""
        factored = self.settled()
        return -np.inf if factored is None else self.evidence(factored)

    def finished(self) -> Maximum | None:
        """The record of where the climb ended."""
        factored = self.settled()
        if factored is None:
            return None
        dense = factored.dense
        covariance = np.diag(np.full(self.model.width, 1.0 / CEILING))
        covariance[np.ix_(self.kept, self.kept)] = dense
        edf = np.zeros(len(self.model.groups))
        edf[self.awake] = _edf(self.small, self.ridges[self.awake], dense)
        return Maximum(
            self.model,
            self.theta,
            self.ridges,
            self.unit_ridges,
            self.here().loglik,
            self.evidence(factored),
            covariance,
            factored.units(dense),
            edf,
            bool(self.gain < 10.0 * CLOSER),
        )


def _penalty(model: Model, theta: Theta, S: np.ndarray, U: np.ndarray) -> float:
    return 0.5 * float((S * (theta.dense - model.centre) ** 2).sum() + (U * theta.units**2).sum())


def _edf(model: Model, ridges: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    spread = np.diag(covariance)
    return np.array([
        group.at[1] - group.at[0] - ridge * spread[group.part].sum()
        for group, ridge in zip(model.groups, ridges, strict=True)
    ])  # fmt: skip
