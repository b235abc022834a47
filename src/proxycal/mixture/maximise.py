"""One model on many rows: to its maximum, and what it is worth there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.em import Rules, run
from proxycal.mixture.information import curvature, information, newton
from proxycal.mixture.laws import Params, Rows, Shape, posterior
from proxycal.mixture.select import Model, bic, floor_of
from proxycal.mixture.sums import Summed, add_up

if TYPE_CHECKING:
    from proxycal.mixture.sums import Chunked


# Steps of Newton's method past saddles, once EM has come as far as it would.
LAST_STEPS = 30
# Attempts of Newton's method, and steps of EM after each that fails. All later steps together are taken to
# bring no more than LATER times what the last ones brought. Of 18 that crept on 40,000 rows 16 were left;
# up to step 60 they would have brought 11 times as much, one 25 times, and none would have come to its bar.
ATTEMPTS, STEPS, LATER = 125, 6, 25.0
# A model this far (in BIC) behind the best of its kind will not catch up any more; one that is FAR behind
# that, or THRESHOLDS.too_far_behind, after a few steps is left at once, as later steps bring a third of it.
BEHIND, FAR = 5.0, 30.0


def maximise(at: Model, chunks: Chunked, floor: float, n: float, bar: float = np.inf) -> Model:
    """A model that was fitted to a part of the rows, at its maximum over all of them.

    It is left where it was when its BIC could not come below the bar any more: a bias that is not there has
    no maximum next to that of the part, and EM creeps, a pass over the table for each step.
    """
    rules = Rules.of([at.shape], at.params.beta.shape[2], floor_of(at.shape, floor))
    last = None
    for _ in range(ATTEMPTS):
        info = information(at.params, chunks, at.shape)
        at = _worth(at, info.loglik, n)
        near = curvature(at.params, info, rules)
        # A quadratic foretells what is left to gain, as a difference of BIC; twice that is more than there
        # is. Where there is none, the last steps of EM do.
        left = 2.0 * near.decrement if near.definite else np.inf
        if last is not None:
            left = min(left, LATER * (last.bic - at.bic))
        if at.bic - left > bar:
            break
        params, converged = newton(at.params, chunks, rules, info=info)
        if converged:
            return valued(at.shape, params, chunks, n, converged)
        params = run(params, chunks, rules, max_steps=STEPS, tol=1e-3).params
        last, at = at, replace(at, params=params)
    else:
        params, converged = newton(at.params, chunks, rules, LAST_STEPS, past_saddles=True)
        at = valued(at.shape, params, chunks, n, converged)
    return at


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


def _worth(at: Model, loglik: float, n: float) -> Model:
    return Model(at.shape, at.params, loglik, bic(at.shape, loglik, at.params, n), False)


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
