"""The best models with and without a bias on all rows: more components, a shift without a gate, AIC.

Every step starts from the models themselves, so that it does not matter how they were selected: on a
sample, on all rows, or on a table in pieces.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from proxycal.mixture.criterion import size_of
from proxycal.mixture.em import Rules, run
from proxycal.mixture.laws import Params, Shape
from proxycal.mixture.maximise import BEHIND, ungated
from proxycal.mixture.reach import best_of
from proxycal.mixture.score_test import components, score_sums
from proxycal.mixture.select import FORETOLD, MAX_J, floor_of
from proxycal.mixture.thresholds import THRESHOLDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from proxycal.mixture.candidates import Candidate
    from proxycal.mixture.criterion import Model
    from proxycal.mixture.sums import Chunked

# Log likelihood that AIC asks of a component of shared slopes: a weight, an intercept and a width.
COMPONENT = 3.0
# BIC between the two from which on a further component changes no verdict.
DECIDED = 60.0
# Steps of EM that tell the best way to split a component, from which its fit goes on.
STEPS = 15


class Maximise(Protocol):
    """A model brought to its maximum over all rows, or left where it is when it cannot come below the bar."""

    def __call__(self, candidate: Candidate, bar: float = np.inf) -> Candidate:
        """The model there."""


def settle(
    bias: Candidate,
    null: Candidate,
    few: Callable[[Candidate], Chunked],
    every: Callable[[Candidate], Chunked],
    maximise: Maximise,
    floor: float,
    max_j: int = MAX_J,
) -> tuple[Candidate, Candidate, float]:
    """The model with and without a bias that the answer rests on, and the BIC by which the first leads.

    few : the rows, or enough of them, to look for one more component in; every : all of them. A bias that
    leads must also beat itself without its gate: "two humps, but E does not say who is on which".
    """
    lead = null.bic - bias.bic
    finer = bias
    if lead > -DECIDED:
        bias, finer = _grown(bias, few, every, maximise, floor, max_j, aic=lead > 0.0)
    if abs(lead) < DECIDED:
        null = _grown(null, few, every, maximise, floor, max_j)[0]
    if bias.bic < null.bic:
        shape, params = ungated(bias.model.shape, bias.model.params)
        bare = replace(bias, model=replace(bias.model, shape=shape, params=params))
        null = best_of([null, maximise(bare, min(null.bic + BEHIND, bias.bic + THRESHOLDS.exact_lead))])
    gain = null.bic - bias.bic
    return (_finer_noise(bias, finer, floor) if gain > 0.0 else bias), null, gain


def _finer_noise(bias: Candidate, finer: Candidate, floor: float) -> Candidate:
    """The best model with a bias, or itself with one more component of noise where AIC asks for it.

    BIC decides whether there is a bias. Once there is one, the shape of skewed or heavy-tailed noise is a
    nuisance: BIC stops at a shape that is too coarse by an amount that the size of the bias takes up (in
    exponential noise about half a standard error at 2,000 rows), and AIC is what undersmooths it. A component
    as narrow as it may be is no shape but a few rows that happen to agree: it would shrink the interval only.
    """
    if bias.model.shape.J == 1:
        return bias
    smooth = bool(_smooth(finer.model.params, floor)[0])
    gained = finer.model.loglik - bias.model.loglik
    return finer if smooth and finer.model.converged and gained > COMPONENT else bias


def _smooth(params: Params, floor: float) -> NDArray[np.bool_]:
    """Which models have no component as narrow as it may be, (B,)."""
    return np.asarray(np.exp(params.log_sigma.min(axis=1)) > 2.0 * floor)


def _grown(
    best: Candidate,
    few: Callable[[Candidate], Chunked],
    every: Callable[[Candidate], Chunked],
    maximise: Maximise,
    floor: float,
    max_j: int,
    aic: bool = False,
) -> tuple[Candidate, Candidate]:
    """The model with as many components of noise as BIC pays for, and with one more.

    aic : whether the one more is brought to its maximum where AIC may want it.
    """
    while (shape := _finer(best.model.shape, max_j)) is not None:
        seen = few(best)
        # Few rows rule out what all of them would, and are sooner asked.
        if not (_may_pay(best.model, seen, aic) and (few is every or _may_pay(best.model, every(best), aic))):
            return best, best
        start = replace(best, model=_split(best.model, shape, seen, floor))
        more = maximise(start, best.bic + (_aic_margin(best.model) if aic else BEHIND))
        if best_of([best, more]) is best:
            return best, more
        best = more
    return best, best


def _may_pay(at: Model, chunks: Chunked, aic: bool) -> bool:
    """Whether a score test foretells enough of one more component, on the rows that it would be split on."""
    sums = score_sums(at.params, chunks, at.shape, components)
    log_n = _log_n(at)
    needed = COMPONENT if aic and at.shape.J > 1 else 0.5 * COMPONENT * log_n
    share = min(sums.weight / float(np.exp(log_n)), 1.0)
    return sums.best() >= FORETOLD * (COMPONENT + (needed - COMPONENT) * share)


def _log_n(at: Model) -> float:
    """The logarithm of the weight of the rows, from what BIC charges."""
    return (at.bic + 2.0 * at.loglik) / size_of(at.shape, at.params)


def _aic_margin(at: Model) -> float:
    """How far (in BIC) behind a further component may be that AIC wants."""
    if at.shape.J == 1:
        return BEHIND
    return max(COMPONENT * (_log_n(at) - 2.0), BEHIND)


def _finer(shape: Shape, max_j: int) -> Shape | None:
    """The shape with one more component of shared slopes, where there is one."""
    if max_j <= shape.J or shape.scale == "environment" or (shape.J > 1 and shape.means != "shared"):
        return None
    return replace(shape, J=shape.J + 1, means="shared")


def _split(at: Model, shape: Shape, chunks: Chunked, floor: float) -> Model:
    """The likeliest model with one component in two, after some steps of EM from every way to do it.

    One as narrow as it may be comes last: it is a few rows that happen to agree, and others in other rows.
    """
    starts = [
        _halves(at.params, j, apart, widths)
        for j in range(at.shape.J)
        for apart, widths in ((0.7, (0.7, 0.7)), (0.0, (0.5, 1.4)))
    ]
    rules = Rules.of([shape] * len(starts), at.params.beta.shape[2], floor_of(shape, floor))
    tried = run(Params.stack(starts), chunks, rules, STEPS, tol=1e-3)
    best = int(np.argmax(np.where(_smooth(tried.params, floor), tried.loglik, tried.loglik - 1e6)))
    return replace(at, shape=shape, params=tried.params.take(np.array([best])), converged=False)


def _halves(params: Params, j: int, apart: float, widths: tuple[float, float]) -> Params:
    """Component j as two: `apart` of its sd to each side, with these parts of its width."""
    sd = float(np.exp(params.log_sigma[0, j]))
    beta, log_sigma, omega = (
        np.concatenate([value, value[:, j : j + 1]], axis=1)
        for value in (params.beta, params.log_sigma, params.omega)
    )
    for k, sign, width in ((j, -1.0, widths[0]), (-1, 1.0, widths[1])):
        beta[0, k, 0] += sign * apart * sd
        log_sigma[0, k] += np.log(width)
        omega[0, k, 0] -= np.log(2.0)
    # The first component is the one that the weights of the others are relative to.
    return replace(params, beta=beta, log_sigma=log_sigma, omega=omega - omega[:, :1])
