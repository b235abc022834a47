"""The log scale of a table that is read in pieces: its positive rows, as logarithms, a piece at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from proxycal.methods.gathered import validated_rows
from proxycal.methods.log_scale import finish, positive_logs, require_positive
from proxycal.methods.parts import outcome_of
from proxycal.methods.validated.record import ValidatedFit

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
    """Rows of a table: positive ones, how many they stand for and their weight, and zeros."""

    n: int
    stand_for: float
    weight: float
    zeros: int

    def __add__(self, other: _Counts) -> _Counts:
        return _Counts(
            self.n + other.n,
            self.stand_for + other.stand_for,
            self.weight + other.weight,
            self.zeros + other.zeros,
        )


@dataclass(frozen=True, slots=True)
class LogPieces:
    """`EncodedPieces` of the positive rows: the same members, for the same methods.

    unit : the mean of the sampling weights of these rows, by which weights are divided.
    """

    table: EncodedPieces
    sample: Arrays
    unit: float
    n: int
    weight: float

    def without_truth(self) -> LogPieces:
        """The same table as if nobody had been validated."""
        sample = replace(self.sample, truth=None, inclusion=None)
        return replace(self, table=self.table.without_truth(), sample=sample)

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
    unit = counts.weight / counts.stand_for if counts.n else 1.0
    logs = positive_logs(table.sample)
    weights = table.sample.weights[outcome_of(table.sample) > 0.0] / unit
    logs = replace(logs, weights=weights)
    require_positive(logs, table.n, settings)
    pieces = LogPieces(table, logs, unit, counts.n, counts.weight / unit)
    inner = fit(pieces, replace(settings, scale="linear"))
    shown = None
    if isinstance(inner, ValidatedFit):
        shown = table.add_up(validated_rows).joined()
    return finish(inner, table.sample, logs, counts.zeros, table.n, shown)


def _counts(arrays: Arrays) -> _Counts:
    positive = outcome_of(arrays) > 0.0
    rows = arrays.take(np.flatnonzero(positive))
    return _Counts(rows.n, rows.stand_for, float(rows.weights.sum()), int((~positive).sum()))


def _on_logs(unit: float, function: Callable[[Arrays], R], arrays: Arrays) -> Any:
    """What the function makes of the positive rows of a piece; None, which adds nothing, without any."""
    positive = outcome_of(arrays) > 0.0
    if not positive.any():
        return None
    return function(replace(positive_logs(arrays), weights=arrays.weights[positive] / unit))
