"""The exact method on a table that is read in pieces: a sample chooses the models, all rows fit them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np

from proxycal.methods.exact.evidence import CHECKED_ROWS
from proxycal.methods.exact.fit import Whole, compare_plainly, data_of, finish, judged, widen_plain
from proxycal.methods.exact.outcome import Outcome, off_spike, read_outcome
from proxycal.methods.gathered import validated_rows
from proxycal.mixture.compare import JUDGE_ROWS
from proxycal.mixture.designs import pieces as row_blocks
from proxycal.mixture.full_data import fit_full_data
from proxycal.mixture.sums import Elsewhere
from proxycal.mixture.wide.widen import WIDE_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxycal.methods.exact.fit import ExactFit
    from proxycal.mixture.designs import Data, Frame
    from proxycal.mixture.laws import Rows
    from proxycal.mixture.sums import S
    from proxycal.scale.fit import EncodedPieces
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays


def fit_pieces(table: EncodedPieces, settings: Settings) -> ExactFit:
    """Compare the models on the sample, fit those that are left to all rows, and conclude there."""
    sample = table.sample
    # What the outcome is, and the features, come from the rows that a table in memory would take, so that
    # both compare the same models.
    judges = spaced_rows(table, settings.sign, Outcome(), JUDGE_ROWS)
    outcome = read_outcome(settings.sign * judges.y)
    judges = judges.take(np.flatnonzero(~outcome.on_spike(settings.sign * judges.y)))
    rows = partial(spaced_rows, table, settings.sign, outcome)
    comparison = compare_plainly(sample, settings, Whole(table.weight, judges, outcome))
    seen = float(comparison.data.weights.sum())
    # Rows on a spike are set apart, as many of all as of the sample.
    weight = table.weight * seen / float(sample.weights.sum())
    chunks = partial(_Chunks, table, settings.sign, outcome)
    full = fit_full_data(comparison.bias, chunks, weight, judges)
    # What the comparison paid for a parameter on the sample, it pays for all rows.
    cost = math.log(weight) / math.log(seen)
    widened = widen_plain(replace(comparison, bias=full, data=rows(WIDE_ROWS)), settings, weight)
    checked = None if full.gain > 0.0 else rows(CHECKED_ROWS)
    compared = replace(comparison, bias=full, widened=widened)
    fit = finish(compared, sample, settings, table.n, cost, checked)
    return fit if sample.truth is None else judged(fit, table.add_up(validated_rows).joined())


def spaced_rows(table: EncodedPieces, sign: float, outcome: Outcome, most: int) -> Data:
    """All rows, or about `most` of them, evenly spaced, as they would be taken from a table in memory."""
    parts = table.add_up(partial(_every, sign, outcome, max(1, table.n // most))).parts
    trusted = [part.trusted for part in parts if part.trusted is not None]
    names = parts[0].levels or {}
    return replace(
        parts[0],
        y=np.concatenate([part.y for part in parts]),
        P=np.concatenate([part.P for part in parts]),
        E=np.concatenate([part.E for part in parts]),
        weights=np.concatenate([part.weights for part in parts]),
        levels={name: np.concatenate([(part.levels or {})[name] for part in parts]) for name in names},
        trusted=np.concatenate(trusted) if trusted else None,
    )


@dataclass(frozen=True, slots=True)
class _Parts:
    """Rows of some pieces; to add is to put them one after the other."""

    parts: tuple[Data, ...]

    def __add__(self, other: _Parts) -> _Parts:
        return _Parts(self.parts + other.parts)


def _every(sign: float, outcome: Outcome, step: int, arrays: Arrays) -> _Parts:
    arrays = off_spike(arrays, outcome)
    return _Parts((data_of(arrays, sign).take(np.arange(0, arrays.n, step)),))


@dataclass(frozen=True, slots=True)
class _Chunks(Elsewhere):
    """All rows of the table in the features of one frame; nothing of them is kept between sums."""

    table: EncodedPieces
    sign: float
    outcome: Outcome
    frame: Frame

    def add_up(self, function: Callable[[Rows], S]) -> S:
        return self.table.add_up(partial(_sums, self.sign, self.outcome, self.frame, function))


def _sums(sign: float, outcome: Outcome, frame: Frame, function: Callable[[Rows], S], arrays: Arrays) -> S:
    """The sums of one piece, in blocks that fit the processor's cache."""
    arrays = off_spike(arrays, outcome)
    data = data_of(arrays, sign)
    return reduce(add, (function(frame.rows(data.take(block))) for block in row_blocks(arrays.n)))
