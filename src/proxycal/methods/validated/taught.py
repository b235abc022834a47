"""What the rows that teach can say anything about: a level that none of them has is answered as the average.

A coefficient is learned from rows whose truth is shown. Of a level that none of them has it is not
identified: any number fits as well. Such a row keeps its report and its numbers; in place of the 0/1 columns
of that category it has their means among the rows that teach, so that the category says nothing of it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# Blocks number the categories from 0; a feature that is a number has this one.
NUMBER = -1


@dataclass(frozen=True, slots=True)
class Taught:
    """The levels that rows which teach have, over p features of about unit scale.

    block : (p,) the category of each 0/1 feature, NUMBER for a number. level, reference : (p,) whether a row
    that teaches has the level of the feature, and the level without a feature of its category.
    mean : (p,) among the rows that teach.
    """

    block: NDArray[np.int64]
    level: NDArray[np.bool_]
    reference: NDArray[np.bool_]
    mean: Array

    @classmethod
    def by(cls, x: Array, block: NDArray[np.int64]) -> Taught:
        """By the features x (n, p) of the rows that teach."""
        has, none = _levels(x, block)
        level, reference = np.asarray(has.any(axis=0)), np.asarray(none.any(axis=0))
        return cls(block, level, reference, np.asarray(x.mean(axis=0)))

    def untaught(self, x: Array) -> NDArray[np.bool_]:
        """(n, p) the 0/1 features of rows that have a level of their category which no row taught."""
        has, none = _levels(x, self.block)
        of_block = self.block[:, None] == self.block
        unknown = (has & ~self.level).astype(float) @ of_block > 0.0
        return np.asarray((unknown | (none & ~self.reference)) & (self.block != NUMBER))

    def pooled(self, x: Array) -> Array:
        """The features (n, p), average where a row has a level that no row taught."""
        untaught = self.untaught(x)
        return np.where(untaught, self.mean, x) if untaught.any() else x

    def gaps(self, x: Array, names: tuple[str, ...], sources: tuple[str, ...]) -> dict[str, int]:
        """Levels that no row taught and the rows of x (n, p) that have them.

        names, sources : (p,) of each feature, and of the column that it comes from.
        """
        has, none = _levels(x, self.block)
        rows = {}
        for j in np.flatnonzero(self.block != NUMBER).tolist():
            if not self.level[j] and has[:, j].any():
                rows[names[j]] = int(has[:, j].sum())
            if not self.reference[j] and none[:, j].any():
                rows[f"{sources[j]} (its first level)"] = int(none[:, j].sum())
        return rows

    def state(self) -> dict[str, Array]:
        """The arrays by name, as numbers."""
        return {part.name: getattr(self, part.name).astype(float) for part in fields(self)}

    @classmethod
    def from_state(cls, arrays: Mapping[str, Array]) -> Taught:
        """The reverse of `state`."""
        return cls(
            arrays["block"].astype(np.int64),
            arrays["level"].astype(bool),
            arrays["reference"].astype(bool),
            arrays["mean"],
        )


def blocks_of(sources: tuple[str, ...], categorical: tuple[bool, ...]) -> NDArray[np.int64]:
    """The category of each feature (p,), by the column that it comes from.

    >>> blocks_of(("age", "race", "race", "sex"), (False, True, True, True)).tolist()
    [-1, 0, 0, 1]
    """
    place: dict[str, int] = {}
    return np.array(
        [
            place.setdefault(source, len(place)) if flag else NUMBER
            for source, flag in zip(sources, categorical, strict=True)
        ],
        dtype=np.int64,
    )


def _levels(x: Array, block: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(n, p) whether a row has the level of a 0/1 feature, and whether it has none of its category.

    A 0/1 column less its mean is above 0 exactly where it is 1; a constant one is 0 throughout.
    """
    has = (x > 0.0) & (block != NUMBER)
    of_block = block[:, None] == block
    return has, (has.astype(float) @ of_block == 0.0) & (block != NUMBER)
