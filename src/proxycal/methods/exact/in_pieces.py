"""The exact method on a table that is read in pieces: a sample chooses the models, all rows fit them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING

from proxycal.methods.exact.fit import compare_models, data_of, finish
from proxycal.methods.exact.outcome import off_spike
from proxycal.mixture.designs import pieces as row_blocks
from proxycal.mixture.full_data import fit_full_data
from proxycal.mixture.sums import Elsewhere

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxycal.methods.exact.fit import ExactFit
    from proxycal.methods.exact.outcome import Outcome
    from proxycal.mixture.designs import Frame
    from proxycal.mixture.laws import Rows
    from proxycal.mixture.sums import S
    from proxycal.scale.fit import EncodedPieces
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays


def fit_pieces(table: EncodedPieces, settings: Settings) -> ExactFit:
    """Compare the models on the sample, fit those that are left to all rows, and conclude there."""
    sample = table.sample
    comparison = compare_models(sample, settings, table.weight)
    seen = float(comparison.data.weights.sum())
    # Rows on a spike are set apart, as many of all as of the sample.
    weight = table.weight * seen / float(sample.weights.sum())
    chunks = partial(_Chunks, table, comparison.sign, comparison.outcome)
    full = fit_full_data(comparison.bias, chunks, weight, comparison.data)
    # What the comparison paid for a parameter on the sample, it pays for all rows.
    cost = math.log(weight) / math.log(seen)
    return finish(replace(comparison, bias=full), sample, settings, n=table.n, cost=cost)


@dataclass(frozen=True, slots=True)
class _Chunks(Elsewhere):
    """All rows of the table in the features of one frame; nothing of them is kept between sums."""

    table: EncodedPieces
    sign: float
    outcome: Outcome
    frame: Frame

    def add_up(self, function: Callable[[Rows], S]) -> S:
        return self.table.add_up(partial(_sums, self.sign, self.outcome, self.frame, function))


def _sums(
    sign: float, outcome: Outcome, frame: Frame, function: Callable[[Rows], S], arrays: Arrays
) -> S:
    """The sums of one piece, in blocks that fit the processor's cache."""
    arrays = off_spike(arrays, outcome)
    data = data_of(arrays, sign)
    return reduce(add, (function(frame.rows(data.take(block))) for block in row_blocks(arrays.n)))
