"""The answer of a sample, carried to all rows of a table that is too large to hold.

A sample has said which models meet (`fit_exact`). Each of them goes on from there to its maximum over every
row, by sums that any place can make, and there they are compared. Newton's method needs few passes: it starts
within a few standard errors, of the sample, of where it ends.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.candidates import Runner, Side
from proxycal.mixture.inference import HOPELESS, conclude
from proxycal.mixture.maximise import carry, ungated, valued

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxycal.mixture.candidates import ExactBias
    from proxycal.mixture.designs import Frame, Spec
    from proxycal.mixture.sums import Chunked


# More rows than the sample's m bring a model of k parameters k n / m in BIC or so: its estimates were off by
# their errors in m rows. Models further apart than REACH times that stay in their order.
REACH = 10.0


def fit_everything(
    found: ExactBias, chunks_of: Callable[[Frame], Chunked], n: float, seen: float
) -> ExactBias:
    """The models of a sample fitted to all rows and compared there.

    found : the answer of the sample, without clusters. chunks_of : all rows in a frame's features; n : their
    weight; seen : that of the sample. What it holds of the race (runners, n_race) and its offset stay those
    of the sample. A model that cannot catch up is left: one without a bias where the sample had it, a bias
    on the way.
    """
    bias, null = (_as_found(spec, chunks_of(spec.frame), n) for spec in (found.bias, found.null))
    within = null.bic < bias.bic + REACH * n / seen * _size(found.null)
    if within:
        null = _carried(null, chunks_of(null.frame), found.floor, n)
    bias = _carried(bias, chunks_of(bias.frame), found.floor, n, null.bic + HOPELESS)
    # The sample preferred its null to the same shift without a gate, so that one cannot catch up either.
    if within and bias.bic < null.bic and found.null.shape.gate != "constant":
        shape, params = ungated(bias.entrant.shape, bias.entrant.params)
        bare = _as_found(replace(found.bias, shape=shape, params=params), chunks_of(bias.frame), n)
        other = _carried(bare, chunks_of(bias.frame), found.floor, n, null.bic + HOPELESS)
        null = min(null, other, key=lambda r: r.bic)
    chunks = chunks_of(bias.frame)
    answer = conclude(chunks, None, bias, null, found.runners, found.n_race, found.floor)
    return replace(answer, offset=found.offset)


def _as_found(spec: Spec, chunks: Chunked, n: float) -> Runner:
    """The model as it comes from the sample, at whose maximum it is."""
    return Runner(spec.frame, valued(spec.shape, spec.params, chunks, n, converged=True), Side(np.zeros(0)))


def _carried(runner: Runner, chunks: Chunked, floor: float, n: float, bar: float = np.inf) -> Runner:
    return replace(runner, entrant=carry(runner.entrant, chunks, floor, n, bar))


def _size(spec: Spec) -> int:
    """How many parameters a model has."""
    p, q = spec.params.beta.shape[2], spec.params.scale.shape[1]
    return spec.shape.size(p, q, 0 if spec.params.a is None else spec.params.a.shape[1])
