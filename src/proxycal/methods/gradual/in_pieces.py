"""The gradual method on a table that is read in pieces: every step but the knots is a sum over all rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, TypeVar

from proxycal.methods.gradual.fit import GradualFit, conclude, rows_of
from proxycal.methods.repeated import in_chunks

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxycal.methods.gradual.rows import Rows
    from proxycal.scale.fit import EncodedPieces
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays

R = TypeVar("R")


def fit_pieces(table: EncodedPieces, settings: Settings) -> GradualFit:
    """Fit all rows; a sample of them places the knots and names the levels."""
    sample, pieces = rows_of(settings.sign, table.sample), _Elsewhere(table, settings.sign)
    # The weight of the table is the number of rows that its rows stand for.
    return conclude(table.sample, sample, pieces, round(table.weight), 0, settings)


@dataclass(frozen=True, slots=True)
class _Elsewhere:
    """The pieces of the table as rows of this method."""

    table: EncodedPieces
    sign: float

    def add_up(self, function: Callable[[Rows], R]) -> R:
        """The sum of what the function makes of every piece."""
        return self.table.add_up(partial(_of_arrays, self.sign, function))


def _of_arrays(sign: float, function: Callable[[Rows], R], arrays: Arrays) -> R:
    return reduce(add, (function(rows_of(sign, part)) for part in in_chunks(arrays)))
