"""Rows from the pieces of a table, put one after the other: its validated rows, wherever they stand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.errors import TableError

if TYPE_CHECKING:
    from proxycal.table.encode import Arrays

# Validated rows of a large table that are kept in memory.
MOST_KNOWN = 20_000


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

        names = ("y", "P", "E", "weights", "truth", "inclusion", "trusted", "counts", "kept")
        levels = {name: np.concatenate([part.levels[name] for part in self.parts]) for name in first.levels}
        return replace(first, levels=levels, **{name: whole(name) for name in names})  # type: ignore[arg-type]


def validated_rows(arrays: Arrays) -> Gathered:
    """The validated rows of a piece."""
    assert arrays.truth is not None
    return Gathered((arrays.take(np.flatnonzero(np.isfinite(arrays.truth))),))
