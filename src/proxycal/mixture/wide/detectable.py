"""The size of a bias that these rows would show in most cases: said beside "no bias found".

A bias of a usual kind is put into the rows as the best null describes them, and the two sides are compared
at the maximum of each, from where they must be: a few fits instead of the hundreds of a simulation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from proxycal.mixture.designs import spaced
from proxycal.mixture.thresholds import THRESHOLDS
from proxycal.mixture.wide.fit import fit, plain_start, replaced
from proxycal.mixture.wide.grow import grown
from proxycal.mixture.wide.law import Law, layout
from proxycal.mixture.wide.search import extend

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from proxycal.mixture.wide.fit import Fitted
    from proxycal.mixture.wide.problem import Problem

    Array = NDArray[np.float64]

# The bias that is put in, as in `proxycal power`: sd of the log odds by environment, and their mean.
GATE_SD, GATE_MEAN = 2.0, 0.0
# Sizes in residual sds of which one is the answer, and the place among them of the most usual one.
SIZES, USUAL = np.geomspace(0.75, 5.0, 17)[1:], 5
# Standard errors by which the expected lead must exceed the threshold to be passed in nine tables of ten.
NINE_OF_TEN = 1.2816
STEPS, PRECISION = 40, 1e-5
# Rows that are enough for it.
ROWS = 1_500


def detectable(null: Fitted, problem: Problem, seed: int = 0) -> float:
    """The smallest size, in sds around content, found in about nine such tables of ten; inf if none is.

    null : the best model without a bias, of components alone. problem : the rows as models with a bias see
    them.
    """
    rng = np.random.default_rng(seed)
    q = problem.E.shape[1]
    if q == 0:
        return float("inf")
    # A part of a large table shows what all of it would: leads grow with the rows.
    part = spaced(len(problem.y), ROWS)
    times = problem.n / float(problem.weights[part].sum())
    problem, null = problem.take(part), replace(null, problem=null.problem.take(part))
    direction = rng.normal(size=q)
    score = problem.E @ direction
    logit = GATE_MEAN + GATE_SD * (score - score.mean()) / max(float(score.std()), 1e-12)
    biased = (rng.random(len(logit)) < expit(logit)).astype(float)
    sd = _sd(null)
    gate = np.r_[GATE_MEAN - GATE_SD * score.mean() / score.std(), GATE_SD * direction / score.std()]

    law = replace(null.law, states=1, gate="E")
    at, truth = layout(law, problem.X.shape[1], q), grown(null, law, problem)
    truth[at.gamma] = gate
    rivals: list[Fitted] = []

    def found(size: float) -> bool:
        moved = replace(problem, y=problem.y + size * sd * biased, low=None, high=None)
        truth[at.alpha] = size * sd
        # Models of one size start those of the next.
        with_bias = fit(moved, law, truth, STEPS, precision=PRECISION)
        truth[:] = with_bias.theta
        if not rivals:
            rivals[:] = _rivals(null, moved)
            return all(_leads(with_bias, rival, times) for rival in rivals)
        for i, rival in enumerate(rivals):
            rivals[i] = replaced(rival, moved, STEPS, PRECISION)
            if not _leads(with_bias, rivals[i], times):
                # It goes first at the next size, where it is most likely to be the one again.
                rivals.insert(0, rivals.pop(i))
                return False
        return True

    first = first_true(lambda i: found(float(SIZES[i])), len(SIZES), USUAL)
    return float(SIZES[first]) if first < len(SIZES) else float("inf")


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


def _sd(null: Fitted) -> float:
    """The sd of the outcome around its content."""
    seen = null.likelihood.seen(null.theta)
    left = (seen.r * seen.cells.left).sum(axis=(0, 1))
    within = (seen.r * (seen.cells.variance + (seen.cells.left - left) ** 2)).sum(axis=(0, 1))
    return float(np.sqrt(np.average(within, weights=null.problem.weights)))


def _rivals(null: Fitted, moved: Problem) -> list[Fitted]:
    """Models without a bias: the null, and shapes that mimic two groups."""
    plain = fit(moved, Law(), plain_start(moved, Law()), STEPS, precision=PRECISION)
    two = extend(plain, Law(components=2), STEPS)
    rivals = [
        extend(plain, Law(scale="E"), STEPS),
        two,
        extend(two, replace(two.law, weights_by_content=True), STEPS),
    ]
    if null.law.components > 1:
        rivals.append(fit(moved, null.law, grown(null, null.law, moved), STEPS, precision=PRECISION))
    return rivals


def _leads(with_bias: Fitted, rival: Fitted, times: float) -> bool:
    """Whether the bias that was put into the rows would lead a model without one in nine tables of ten.

    times : the rows of the table, in those of the problem.
    """
    moved = with_bias.problem
    lead = with_bias.likelihood.seen(with_bias.theta).loglik - rival.likelihood.seen(rival.theta).loglik
    price = (with_bias.size - rival.size) * float(np.log(moved.n * times))
    gain = 2.0 * times * (with_bias.loglik - rival.loglik) - price
    error = 2.0 * float(np.sqrt(times * np.sum((moved.weights * (lead - lead.mean())) ** 2)))
    return gain - NINE_OF_TEN * error > THRESHOLDS.narrow_gain
