"""The log scale of a table that is read in pieces: its positive rows, as logarithms, a piece at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from proxycal.methods.log_scale import finish, positive_logs, require_positive
from proxycal.methods.parts import outcome_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from proxycal.methods.log_scale import LogFit
    from proxycal.methods.registry import MethodFit
    from proxycal.scale.fit import EncodedPieces
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class _Counts:
    """Rows of a table: positive ones and their weight, zeros, and whether all weights are whole."""

    n: int
    weight: float
    zeros: int
    whole: bool

    def __add__(self, other: _Counts) -> _Counts:
        return _Counts(
            self.n + other.n,
            self.weight + other.weight,
            self.zeros + other.zeros,
            self.whole and other.whole,
        )


@dataclass(frozen=True, slots=True)
class LogPieces:
    """`EncodedPieces` of the positive rows: the same members, for the same methods.

    unit : what the weight of a row is divided by, one where weights are counts.
    """

    table: EncodedPieces
    sample: Arrays
    unit: float
    n: int
    weight: float

    def add_up(self, function: Callable[[Arrays], R]) -> R:
        """The sum of what the function makes of every piece."""
        return self.table.add_up(partial(_on_logs, self.unit, function))

    def in_turn(self, function: Callable[[Arrays], R]) -> Iterator[R]:
        """What the function makes of each piece, in the order of the rows, one piece at a time."""
        return self.table.in_turn(partial(_on_logs, self.unit, function))


def fit_logs_in_pieces(
    fit: Callable[[LogPieces, Settings], MethodFit], table: EncodedPieces, settings: Settings
) -> LogFit:
    """Fit the positive rows of a table in pieces on the log scale."""
    counts = table.add_up(_counts)
    unit = 1.0 if counts.whole else counts.weight / max(counts.n, 1)
    logs = positive_logs(table.sample)
    weights = table.sample.weights[outcome_of(table.sample) > 0.0] / unit
    logs = replace(logs, weights=weights)
    require_positive(logs, table.n, settings)
    pieces = LogPieces(table, logs, unit, counts.n, counts.weight / unit)
    inner = fit(pieces, replace(settings, scale="linear"))
    return finish(inner, table.sample, logs, counts.zeros, table.n)


def _counts(arrays: Arrays) -> _Counts:
    positive = outcome_of(arrays) > 0.0
    weights = arrays.weights[positive]
    whole = bool((weights == np.round(weights)).all())
    return _Counts(int(positive.sum()), float(weights.sum()), int((~positive).sum()), whole)


def _on_logs(unit: float, function: Callable[[Arrays], R], arrays: Arrays) -> R | None:
    """What the function makes of the positive rows of a piece; None where it has none."""
    positive = outcome_of(arrays) > 0.0
    if not positive.any():
        return None
    return function(replace(positive_logs(arrays), weights=arrays.weights[positive] / unit))
