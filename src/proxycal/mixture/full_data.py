"""The answer of a sample, continued on all rows of a table that is too large to hold.

A sample has said which models are within reach of the best (`fit_exact`). Each of them goes on from there to
its maximum over every row, by sums that any place can make, and there they are compared. Newton needs few
passes: it starts within a few standard errors, of the sample, of where it ends.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.criterion import bic
from proxycal.mixture.inference import conclude
from proxycal.mixture.maximise import BEHIND, maximise, valued
from proxycal.mixture.reach import best_of
from proxycal.mixture.settle import settle
from proxycal.mixture.thresholds import THRESHOLDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proxycal.mixture.candidates import Candidate, ExactBias
    from proxycal.mixture.criterion import Model
    from proxycal.mixture.designs import Data, Frame
    from proxycal.mixture.sums import Chunked


def fit_full_data(
    selected: ExactBias, chunks_of: Callable[[Frame], Chunked], n: float, part: Data
) -> ExactBias:
    """The models of a sample fitted to all rows and compared there.

    selected : the answer of the sample, without clusters. chunks_of : all rows in a frame's features; n :
    their weight; part : all rows, or enough of them to look for one more component in. The candidates,
    n_compared and the offset of the answer stay those of the sample. A model that cannot catch up is left as
    soon as that shows: on the part, or after one pass.
    """
    to_all = partial(_maximised, chunks_of, selected.floor, n)
    biases = [candidate for candidate in selected.undecided if candidate.claims_bias]
    nulls = [candidate for candidate in selected.undecided if not candidate.claims_bias]
    # The kind that leads in the sample goes first, for the other to be measured by.
    if selected.undecided[0] is biases[0]:
        bias = _best(biases, to_all)
        null = _rival(nulls, bias, THRESHOLDS.exact_lead, to_all, part, n)
    else:
        null = _best(nulls, to_all)
        bias = _rival(biases, null, THRESHOLDS.too_far_behind, to_all, part, n)
    few = lambda candidate: candidate.frame.chunks(part)  # noqa: E731
    every = lambda candidate: chunks_of(candidate.frame)  # noqa: E731
    bias, null, gain = settle(bias, null, few, every, to_all, selected.floor)
    chunks = chunks_of(bias.frame)
    answer = conclude(chunks, None, bias, null, selected.candidates, selected.n_compared, selected.floor)
    return replace(answer, gain=gain, offset=selected.offset)


def _best(
    candidates: Sequence[Candidate], to_all: Callable[..., Candidate], most: float = np.inf
) -> Candidate:
    """The best on all rows; a model that cannot reach the best so far, or a BIC of `most`, is left."""
    fitted: list[Candidate] = []
    for candidate in candidates:
        bar = min([most, *(other.bic + BEHIND for other in fitted)])
        fitted.append(to_all(candidate, bar))
    return best_of(fitted)


def _rival(
    candidates: Sequence[Candidate],
    leader: Candidate,
    far: float,
    to_all: Callable[..., Candidate],
    part: Data,
    n: float,
) -> Candidate:
    """The best of the other kind on all rows; as a part foretells it where that shows that none is near.

    far : BIC by which a model may trail the leader on all rows and still be brought to its maximum.
    """
    ahead, here = _on_part(leader, part), [_on_part(candidate, part) for candidate in candidates]
    near = [c for c, at in zip(candidates, here, strict=True) if at.bic <= ahead.bic + THRESHOLDS.exact_lead]
    if near:
        return _best(near, to_all, leader.bic + far)
    first = min(range(len(here)), key=lambda i: here[i].bic)
    at, times = here[first], n / float(part.weights.sum())
    loglik = leader.model.loglik - (ahead.loglik - at.loglik) * times
    value = bic(at.shape, loglik, at.params, n)
    return replace(candidates[first], model=replace(at, loglik=loglik, bic=value))


def _on_part(candidate: Candidate, part: Data) -> Model:
    chunks = candidate.frame.chunks(part)
    return valued(candidate.model.shape, candidate.model.params, chunks, chunks.weight)


def _maximised(
    chunks_of: Callable[[Frame], Chunked], floor: float, n: float, candidate: Candidate, bar: float = np.inf
) -> Candidate:
    return replace(candidate, model=maximise(candidate.model, chunks_of(candidate.frame), floor, n, bar))
