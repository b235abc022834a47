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
from proxycal.mixture.wide.fit import extend, fit, grown, plain_start, replaced
from proxycal.mixture.wide.law import Law, layout

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.mixture.wide.fit import Fitted
    from proxycal.mixture.wide.likelihood import Problem

    Array = NDArray[np.float64]

# The bias that is put in, as in `proxycal power`: sd of the log odds by environment, and their mean.
GATE_SD, GATE_MEAN = 2.0, 0.0
# Sizes in residual sds between which the answer is sought, and how often the range is halved.
LEAST, MOST, HALVES = 0.75, 5.0, 4
# Standard errors by which the expected lead must exceed the threshold to be passed in nine tables of ten.
NINE_OF_TEN = 1.2816
STEPS = 40
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

    rivals: list[Fitted] = []

    def found(size: float) -> bool:
        moved = replace(problem, y=problem.y + size * sd * biased, low=None, high=None)
        # Rivals of one size start those of the next.
        rivals[:] = [replaced(one, moved, STEPS) for one in rivals] or _rivals(null, moved)
        return _leads(null, moved, size * sd, gate, times, min(rivals, key=lambda one: one.bic))

    low, high = LEAST, MOST
    if not found(high):
        return float("inf")
    for _ in range(HALVES):
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if found(middle) else (middle, high)
    return high


def _sd(null: Fitted) -> float:
    """The sd of the outcome around its content."""
    seen = null.likelihood.seen(null.theta)
    mean = (seen.r * seen.cells.mean).sum(axis=(0, 1))
    within = (seen.r * (seen.cells.variance + (seen.cells.mean - mean) ** 2)).sum(axis=(0, 1))
    return float(np.sqrt(np.average(within, weights=null.problem.weights)))


def _rivals(null: Fitted, moved: Problem) -> list[Fitted]:
    """Models without a bias: the null, and shapes that mimic two groups."""
    plain = fit(moved, Law(), plain_start(moved, Law()), STEPS)
    two = extend(plain, Law(components=2), STEPS)
    rivals = [
        extend(plain, Law(scale="E"), STEPS),
        two,
        extend(two, replace(two.law, weights_by_content=True), STEPS),
    ]
    if null.law.components > 1:
        rivals.append(fit(moved, null.law, grown(null, null.law, moved), STEPS))
    return rivals


def _leads(null: Fitted, moved: Problem, size: float, gate: Array, times: float, best: Fitted) -> bool:
    """Whether the bias that was put into the rows would lead the best rival in nine tables of ten.

    The side with a bias starts at the truth. times : the rows of the table, in those of the problem.
    """
    law = replace(null.law, states=1, gate="E")
    start = grown(null, law, moved)
    at = layout(law, moved.X.shape[1], moved.E.shape[1])
    start[at.alpha], start[at.gamma] = size, gate
    with_bias = fit(moved, law, start, STEPS)
    lead = with_bias.likelihood.seen(with_bias.theta).loglik - best.likelihood.seen(best.theta).loglik
    price = (with_bias.size - best.size) * float(np.log(moved.n * times))
    gain = 2.0 * times * (with_bias.loglik - best.loglik) - price
    error = 2.0 * float(np.sqrt(times * np.sum((moved.weights * (lead - lead.mean())) ** 2)))
    return gain - NINE_OF_TEN * error > THRESHOLDS.narrow_gain
