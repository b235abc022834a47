"""The answer of a sample, carried to all rows of a table that is too large to hold.

A sample has said which models meet (`fit_exact`). Each of them goes on from there to its maximum over every
row, by sums that any place can make, and there they are compared. Newton's method needs few passes: it starts
within a few standard errors, of the sample, of where it ends.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.bias.conclude import conclude
from proxycal.bias.em import Rules
from proxycal.bias.polish import to_maximum, ungated, valued
from proxycal.bias.race import floor_of
from proxycal.bias.runners import Runner, Side

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxycal.bias.designs import Frame, Spec
    from proxycal.bias.runners import ExactBias
    from proxycal.bias.sums import Chunked


def fit_everything(found: ExactBias, chunks_of: Callable[[Frame], Chunked], n: float) -> ExactBias:
    """The models of a sample fitted to all rows and compared there.

    found : the answer of the sample, without clusters. chunks_of : all rows in a frame's features; n : their
    weight. What it holds of the race (runners, n_race) and its offset stay those of the sample.
    """
    bias = _runner(found.bias, chunks_of(found.bias.frame), found.floor, n)
    null = _runner(found.null, chunks_of(found.null.frame), found.floor, n)
    if bias.bic < null.bic and found.null.shape.gate != "constant":
        shape, params = ungated(bias.entrant.shape, bias.entrant.params)
        bare = replace(found.bias, shape=shape, params=params)
        other = _runner(bare, chunks_of(bare.frame), found.floor, n)
        null = min(null, other, key=lambda r: r.bic)
    chunks = chunks_of(bias.frame)
    answer = conclude(chunks, None, bias, null, found.runners, found.n_race, found.floor)
    return replace(answer, offset=found.offset)


def _runner(spec: Spec, chunks: Chunked, floor: float, n: float) -> Runner:
    rules = Rules.of([spec.shape], spec.params.beta.shape[2], floor_of(spec.shape, floor))
    params, converged = to_maximum(spec.params, chunks, rules)
    return Runner(spec.frame, valued(spec.shape, params, chunks, n, converged), Side(np.zeros(0)))
