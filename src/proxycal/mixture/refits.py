"""The best model with a bias fitted again to reweighted rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.em import Rules, run
from proxycal.mixture.select import floor_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.mixture.candidates import ExactBias
    from proxycal.mixture.designs import Data

    Array = NDArray[np.float64]

# A refit starts at the answer: this many accelerated steps settle it, on at most this many cells at a time.
REFIT_STEPS, REFIT_CELLS = 24, 4_000_000


def refit_shifts(answer: ExactBias, data: Data, weights: Array) -> Array:
    """The shift coefficients (B, L) of the best model refitted under each row of weights (B, n), from it.

    Replicates are one batch; large tables take a few at a time so that memory stays bounded.
    """
    spec = answer.bias
    at = spec.frame.rows(replace(data, y=data.y - answer.offset))
    rules = Rules.of([spec.shape], at.X.shape[1], floor_of(spec.shape, answer.floor))
    block = max(1, REFIT_CELLS // (2 * spec.shape.J * len(data.y)))
    out = []
    for start in range(0, len(weights), block):
        W = weights[start : start + block]
        index = np.zeros(len(W), dtype=np.intp)
        rows = replace(at, weights=W)
        fitted = run(spec.params.take(index), [rows], rules.take(index), max_steps=REFIT_STEPS, tol=0.0)
        out.append(fitted.params.a)
    return np.concatenate(out) * spec.frame.scale
