"""One model on many rows: to its maximum, and what it is worth there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.criterion import Model, bic
from proxycal.mixture.em import Rules, run
from proxycal.mixture.information import ARRIVED, NEARLY, newton, uphill
from proxycal.mixture.laws import Params, Rows, Shape, posterior
from proxycal.mixture.select import floor_of
from proxycal.mixture.sums import Summed, add_up

if TYPE_CHECKING:
    from proxycal.mixture.information import Step
    from proxycal.mixture.sums import Chunked


# Steps of Newton's method past saddles at the most; SOON the neighbourhood of a maximum is as good as the
# maximum. Steps of EM where they end before it, and how often both.
LAST_STEPS, SOON, STEPS, CLIMBS = 30, 8, 9, 6
# What all later steps together bring at the most, in BIC: LATER times what a quadratic foretells of the next,
# and PLATEAU, since components that are nearly the same say little of how far they could come apart. In 72
# models of 45,000 rows, of 229 steps with more than 0.5 to come after them, 224 had no more.
LATER, PLATEAU = 4.0, 10.0
# A model this far (in BIC) behind the best of its kind will not catch up any more; one that is FAR behind
# that, or THRESHOLDS.too_far_behind, after a few steps is left at once, as later steps bring a third of it.
BEHIND, FAR = 5.0, 30.0


def maximise(at: Model, chunks: Chunked, floor: float, n: float, bar: float = np.inf) -> Model:
    """A model that was fitted to a part of the rows, at its maximum over all of them.

    It is left where it was when its BIC could not come below the bar any more: a bias that is not there has
    no maximum next to that of the part, and every step is a pass over the table.
    """
    rules = Rules.of([at.shape], at.params.beta.shape[2], floor_of(at.shape, floor))
    for _ in range(CLIMBS):
        for taken, step in enumerate(islice(uphill(at.params, chunks, rules), LAST_STEPS)):
            at, near = _worth(at, step, n), step.near
            if near.definite and near.decrement < (ARRIVED if taken < SOON else NEARLY):
                return replace(at, converged=True)
            if _too_far(at, step, bar):
                return at
        at = replace(at, params=run(at.params, chunks, rules, max_steps=STEPS, tol=1e-3).params)
    return valued(at.shape, at.params, chunks, n)


def out_of_reach(at: Model, chunks: Chunked, rules: Rules, n: float, bar: float) -> Model | None:
    """The model as it is, where one pass shows that its BIC could not come below the bar; else None."""
    step = next(uphill(at.params, chunks, rules))
    here = _worth(at, step, n)
    return here if _too_far(here, step, bar) else None


def _too_far(at: Model, step: Step, bar: float) -> bool:
    return at.bic - LATER * step.near.decrement - PLATEAU > bar


def newton_then_em(params: Params, chunks: Chunked, rules: Rules) -> tuple[Params, bool]:
    """Newton from the neighbourhood of the maximum; EM goes on where that is not near enough."""
    for steps in (0, 150, 600):
        if steps:
            params = run(params, chunks, rules, max_steps=steps, tol=1e-7).params
        params, converged = newton(params, chunks, rules)
        if converged:
            return params, converged
    return newton(params, chunks, rules, LAST_STEPS, past_saddles=True)


def valued(shape: Shape, params: Params, chunks: Chunked, n: float, converged: bool = False) -> Model:
    """The model with its log likelihood and BIC over rows of weight n."""
    loglik = add_up(chunks, partial(_loglik, params, shape)).loglik
    return Model(shape, params, loglik, bic(shape, loglik, params, n), converged)


def _worth(at: Model, step: Step, n: float) -> Model:
    """The model where a step has led."""
    loglik = step.info.loglik
    return Model(at.shape, step.params, loglik, bic(at.shape, loglik, step.params, n), False)


@dataclass(frozen=True, slots=True)
class _LogLik(Summed):
    """The log likelihood of some rows."""

    loglik: float


def _loglik(params: Params, shape: Shape, rows: Rows) -> _LogLik:
    return _LogLik(float(posterior(params, rows, shape).loglik[0] @ rows.weights))


def ungated(shape: Shape, params: Params) -> tuple[Shape, Params]:
    """The same model with a gate that E does not move, as a start."""
    gamma = np.zeros_like(params.gamma)
    gamma[:, 0] = params.gamma[:, 0]
    return replace(shape, gate="constant"), replace(params, gamma=gamma)
