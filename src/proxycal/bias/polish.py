"""One model on many rows: to its maximum, and what it is worth there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from proxycal.bias.em import gap_loglik, run
from proxycal.bias.information import newton
from proxycal.bias.mixture import Params, Rows, Shape, posterior
from proxycal.bias.race import Entrant, bic
from proxycal.bias.sums import Summed, add_up

if TYPE_CHECKING:
    from proxycal.bias.em import Rules
    from proxycal.bias.sums import Chunked


def to_maximum(params: Params, chunks: Chunked, rules: Rules) -> tuple[Params, bool]:
    """Newton from the neighbourhood of the maximum; EM goes on where that is not near enough."""
    for steps in (0, 150, 600):
        if steps:
            params = run(params, chunks, rules, max_steps=steps, tol=1e-7).params
        params, converged = newton(params, chunks, rules)
        if converged:
            break
    return params, converged


def valued(shape: Shape, params: Params, chunks: Chunked, n: float, converged: bool = False) -> Entrant:
    """The model with its log likelihood and BIC over rows of weight n."""
    loglik = add_up(chunks, partial(_loglik, params, shape)).loglik
    loglik += 0.0 if shape.shift else gap_loglik(chunks)
    return Entrant(shape, params, loglik, bic(shape, loglik, params, n), converged)


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
