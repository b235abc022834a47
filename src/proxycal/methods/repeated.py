"""Rows that stand for several equal ones (role counts), written out: every sum is then theirs.

A weight of two says that a row counts twice in a mean. It does not say that there are two rows: errors of
estimates, knots and levels go by how many independent rows there are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from proxycal.table.encode import Arrays

# Rows that are written out at a time.
MOST = 200_000


def stands_for_more(arrays: Arrays) -> bool:
    """Whether some row stands for another number of rows than one."""
    return arrays.counts is not None and bool((arrays.counts != 1.0).any())


def repeated(arrays: Arrays) -> Arrays:
    """Every row as often as it stands for, in place of its count."""
    if arrays.counts is None:
        return arrays
    times = np.round(arrays.counts).astype(np.intp)
    single = replace(arrays, weights=arrays.weights / np.maximum(arrays.counts, 1.0), counts=None)
    return single.take(np.repeat(np.arange(arrays.n), times))


def written_out(arrays: Arrays, most: int) -> tuple[Arrays, NDArray[np.intp] | None]:
    """The rows repeated where that makes no more than `most`, and where each was before; else as they are."""
    if not stands_for_more(arrays) or arrays.stand_for > most:
        return arrays, None
    assert arrays.counts is not None  # or each would stand for itself
    return repeated(arrays), np.repeat(np.arange(arrays.n), np.round(arrays.counts).astype(np.intp))


def in_chunks(arrays: Arrays) -> Iterator[Arrays]:
    """The rows, repeated, about MOST at a time; one row that stands for more is not cut."""
    if arrays.counts is None:
        yield arrays
        return
    place = (np.cumsum(arrays.counts) // MOST).astype(np.intp)
    for rows in np.split(np.arange(arrays.n), np.flatnonzero(np.diff(place)) + 1):
        yield repeated(arrays.take(rows))
