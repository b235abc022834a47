"""The answer of a sample, carried to all rows of a table that is too large to hold.

A sample has said which models are within reach of the best (`fit_exact`). Each of them goes on from there to
its maximum over every row, by sums that any place can make, and there they are compared. Newton needs few
passes: it starts within a few standard errors, of the sample, of where it ends.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.inference import conclude
from proxycal.mixture.maximise import BEHIND, carry
from proxycal.mixture.reach import best_of
from proxycal.mixture.settle import settle
from proxycal.mixture.thresholds import THRESHOLDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proxycal.mixture.candidates import ExactBias, Runner
    from proxycal.mixture.designs import Data, Frame
    from proxycal.mixture.sums import Chunked


def fit_everything(
    found: ExactBias, chunks_of: Callable[[Frame], Chunked], n: float, sample: Data
) -> ExactBias:
    """The models of a sample fitted to all rows and compared there.

    found : the answer of the sample, without clusters. chunks_of : all rows in a frame's features; n : their
    weight; sample : the rows that were sampled. What the answer holds of the race (runners, n_race) and its
    offset stay those of the sample. A model that cannot catch up is left as soon as that shows, most often
    after one pass.
    """
    to_all = partial(_carried, chunks_of, found.floor, n)
    biases = [r for r in found.finalists if r.entrant.shape.claims_bias]
    nulls = [r for r in found.finalists if not r.entrant.shape.claims_bias]
    # The side that leads in the sample goes first, for the other to be measured by.
    if found.finalists[0] is biases[0]:
        bias = _best(biases, to_all)
        null = _best(nulls, to_all, bias.bic)
    else:
        null = _best(nulls, to_all)
        bias = _best(biases, to_all, null.bic)
    few = lambda runner: runner.frame.chunks(sample)  # noqa: E731
    bias, null, gain = settle(bias, null, few, to_all, found.floor)
    chunks = chunks_of(bias.frame)
    answer = conclude(chunks, None, bias, null, found.runners, found.n_race, found.floor)
    return replace(answer, gain=gain, offset=found.offset)


def _best(runners: Sequence[Runner], to_all: Callable[..., Runner], rival: float = np.inf) -> Runner:
    """The best of a side on all rows; whoever cannot reach the best so far, or the rival, is left."""
    fitted: list[Runner] = []
    for runner in runners:
        bar = min([rival + THRESHOLDS.too_far_behind, *(r.bic + BEHIND for r in fitted)])
        fitted.append(to_all(runner, bar))
    return best_of(fitted)


def _carried(
    chunks_of: Callable[[Frame], Chunked], floor: float, n: float, runner: Runner, bar: float = np.inf
) -> Runner:
    return replace(runner, entrant=carry(runner.entrant, chunks_of(runner.frame), floor, n, bar))
