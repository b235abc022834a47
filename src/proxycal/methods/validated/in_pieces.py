"""The validated method on a table that is read in pieces.

The exact fit adds up all rows; the candidates learn from every validated row and the sample of the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.errors import TableError
from proxycal.methods.registry import METHODS
from proxycal.methods.validated.fit import conclude, require_rows
from proxycal.methods.validated.thresholds import MOST_KNOWN

if TYPE_CHECKING:
    from proxycal.methods.validated.record import ValidatedFit
    from proxycal.scale.fit import EncodedPieces
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays


def fit_pieces(table: EncodedPieces, settings: Settings) -> ValidatedFit:
    """Fit the exact method to all rows without any truth, gather the validated rows, and learn from them."""
    roles = replace(table.encoder.roles, truth=None, inclusion=None)
    blind = replace(
        table,
        encoder=replace(table.encoder, roles=roles),
        sample=replace(table.sample, truth=None, inclusion=None),
    )
    known = table.add_up(validated_rows).joined()
    require_rows(known)
    exact = METHODS["exact"].fit_in_pieces(blind, settings)
    assert table.sample.truth is not None
    others = table.sample.take(np.flatnonzero(~np.isfinite(table.sample.truth)))
    return conclude(Gathered((known, others)).joined(), exact, settings, table.n)


@dataclass(frozen=True, slots=True)
class Gathered:
    """Rows from several pieces; those of pieces add up."""

    parts: tuple[Arrays, ...]

    def __add__(self, other: Gathered) -> Gathered:
        both = Gathered(self.parts + other.parts)
        rows = sum(part.n for part in both.parts)
        if rows > MOST_KNOWN:
            raise TableError(
                f"more than {MOST_KNOWN:,} validated rows of a table that is read in pieces: fit a random "
                "part of it, which is as good"
            )
        return both

    def joined(self) -> Arrays:
        """The rows as one."""
        first = self.parts[0]

        def whole(name: str) -> np.ndarray | None:
            columns = [getattr(part, name) for part in self.parts]
            return None if columns[0] is None else np.concatenate(columns)

        names = ("y", "P", "E", "weights", "truth", "inclusion", "trusted", "kept")
        levels = {name: np.concatenate([part.levels[name] for part in self.parts]) for name in first.levels}
        return replace(first, levels=levels, **{name: whole(name) for name in names})  # type: ignore[arg-type]


def validated_rows(arrays: Arrays) -> Gathered:
    """The validated rows of a piece."""
    assert arrays.truth is not None
    return Gathered((arrays.take(np.flatnonzero(np.isfinite(arrays.truth))),))
