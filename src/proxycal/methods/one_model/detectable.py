"""The size of a bias that these rows would show in most cases: said beside "no bias found".

A bias of a usual kind is put into what the best model without one leaves of the outcome, and both sides are
fitted to that with straight lines of the environment: a few small fits in place of a simulation. Each row
stands there twice, biased and not, weighed by the chance of either, so that one comparison shows what all
draws of who is biased would show on average.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from proxycal.engine.families.normal import Normal
from proxycal.engine.likelihood import evaluated, predictors
from proxycal.engine.search import Table, family_of, with_component
from proxycal.engine.standard import Terms, straight
from proxycal.methods.one_model.compare import spaced
from proxycal.methods.one_model.thresholds import RULES
from proxycal.mixture.thresholds import THRESHOLDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxycal.engine.maximise import Maximum
    from proxycal.engine.model import Model
    from proxycal.methods.one_model.compare import Compared

# The bias that is put in, as in `proxycal power`: sd of the log odds by environment.
GATE_SD = 2.0
# Sizes in residual sds of which one is the answer, and the place among them of the most usual one. The one
# that the verdict asks for is among them.
SIZES, USUAL = THRESHOLDS.detectable * 1.25 ** np.arange(-5.0, 3.0), 3
# Standard errors by which the expected lead must exceed what is asked to be passed in nine tables of ten.
NINE_OF_TEN = 1.2816
# Rows that are enough for it, each of which counts twice: leads grow with the rows.
ENOUGH_ROWS = 500
ROUNDS = 8


@dataclass(frozen=True, slots=True)
class PutIn:
    """Rows of a bias that is put in, each twice.

    table : what is left of the outcome, in the engine's units, with the columns of straight lines. share
    (2n,) : the chance of each. biased (2n,) : 0 the first time and 1 the second. odds (2n,) : log odds of a
    bias. noise : sd of what is left. times : rows of the table for each of these.
    """

    table: Table
    share: np.ndarray
    biased: np.ndarray
    odds: np.ndarray
    noise: float
    times: float

    def moved(self, size: float) -> Table:
        """The rows with a bias of a size, in sds of the noise."""
        y = self.table.outcome["y"] + size * self.noise * self.biased
        return replace(self.table, outcome={"y": y})

    def leads(self, table: Table, biased: Maximum, rival: Maximum) -> bool:
        """Whether the bias would lead by enough in nine tables of ten."""
        lead = _log_density(table, biased) - _log_density(table, rival)
        price = (biased.loglik - rival.loglik) - (biased.evidence - rival.evidence)
        weights = table.weights / np.maximum(self.share, 1e-12)
        mean = float(np.average(lead, weights=table.weights))
        error = float(np.sqrt(self.times * np.sum(table.weights * weights * (lead - mean) ** 2)))
        expected = self.times * float(table.weights @ lead) - price
        return expected - NINE_OF_TEN * error > RULES.lead


def detectable(compared: Compared, without: Maximum, seed: int) -> tuple[float, float]:
    """The smallest size, in sds of the noise, found in about nine such tables of ten, and that sd.

    Infinite where none is found; the sd is in the engine's units.
    """
    put = put_in(compared, without, seed)
    if put is None:
        return float("inf"), 1.0
    start = put.moved(float(SIZES[USUAL]))
    rival = start.climb(Normal(1, 0), _as_it_is, rounds=ROUNDS)

    def found(size: float) -> bool:
        table = put.moved(size)
        biased = table.climb(Normal(1, 1), _at_truth(put, size), rival, rounds=ROUNDS)
        plain = table.climb(Normal(1, 0), _as_it_is, rival, rounds=ROUNDS)
        if biased is None or plain is None or not put.leads(table, biased, plain):
            return False
        humped = with_component(table, plain)
        return humped is None or put.leads(table, biased, humped)

    first = first_true(lambda at: found(float(SIZES[at])), len(SIZES), USUAL)
    return float(SIZES[first]) if first < len(SIZES) else float("inf"), put.noise


def put_in(compared: Compared, without: Maximum, seed: int) -> PutIn | None:
    """A bias that the environment drives along a random direction; None without an environment."""
    arrays = compared.arrays
    if not arrays.E.shape[1]:
        return None
    few = spaced(arrays.n, ENOUGH_ROWS)
    eta = predictors(without.model, compared.sample(without), without.theta)
    left = compared.reports["y"] - family_of(without).unbiased_mean(eta)
    noise = float(np.sqrt(np.average(left**2, weights=arrays.weights)))
    part, rows = arrays.take(few), compared.rows.take(few)
    direction = np.random.default_rng(seed).normal(size=part.E.shape[1])
    score = part.E @ direction
    odds = GATE_SD * (score - score.mean()) / max(float(score.std()), 1e-12)
    chance = expit(odds)
    twice = np.tile(np.arange(len(few)), 2)
    share = np.concatenate([1.0 - chance, chance])
    terms = straight(Terms.learn(rows))
    table = Table(
        {"y": left[few][twice]},
        part.weights[twice] * share,
        terms,
        {name: X[twice] for name, X in terms.columns(rows).items()},
    )
    times = float(arrays.weights.sum() / part.weights.sum())
    return PutIn(table, share, np.repeat([0.0, 1.0], len(few)), np.tile(odds, 2), noise, times)


def _as_it_is(model: Model, theta: np.ndarray, ridges: np.ndarray) -> None:
    """From where the model before ended, or from nothing known."""


def _at_truth(put: PutIn, size: float) -> Callable[[Model, np.ndarray, np.ndarray], None]:
    """From the bias that was put in."""

    def begin(model: Model, theta: np.ndarray, ridges: np.ndarray) -> None:
        theta[model.at("mean")] = 0.0
        theta[model.at("scale")] = 0.0
        theta[model.at("scale").start] = np.log(put.noise)
        theta[model.at("size").start] = np.log(size * put.noise)
        X = put.table.columns["who"]
        theta[model.at("who")] = np.linalg.lstsq(X, put.odds, rcond=1e-9)[0]
        for at, group in enumerate(model.groups):
            ridges[at] = 1.0 if group.predictor == "who" else 30.0

    return begin


def _log_density(table: Table, fit: Maximum) -> np.ndarray:
    return evaluated(fit.model, table.sample(fit.model), fit.theta, fit.model.family.log_density)


def first_true(holds: Callable[[int], bool], n: int, guess: int) -> int:
    """The first of 0 .. n - 1 where something holds that holds from there on, n if nowhere.

    Steps away from the guess grow until they are past it: few questions where the guess is near.

    >>> [first_true(lambda i: i >= first, 16, 5) for first in (0, 4, 5, 6, 15, 16)]
    [0, 4, 5, 6, 15, 16]
    """
    low, high, at, step = -1, n, guess, 1
    while high - low > 1:
        if holds(at):
            high = at
        else:
            low = at
        if low < 0:
            at = max(high - step, 0)
        elif high == n:
            at = min(low + step, n - 1)
        else:
            at = (low + high) // 2
        step *= 2
    return high
