"""Some rows of a table that is read in pieces, or of files, for a comparison with the fitted ones."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa

from proxycal.drift.run import (
    MOST_ROWS,
    chosen,
    columns_compared,
    compare_fit,
    compare_frame,
    if_readable,
)
from proxycal.scale.pieces import is_partitioned
from proxycal.scale.sources import BATCH, batches, look_at
from proxycal.scale.streams import StreamPieces, is_streamed, stream_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from proxycal.drift.compare import Drift
    from proxycal.result import Fit
    from proxycal.scale.sources import Source

# A Parquet file of more rows is looked at in so many places, and not from end to end.
WHOLE, PLACES = 4 * BATCH, 8


class _Adds(Protocol):
    def __add__(self, other: Self) -> Self: ...


R = TypeVar("R", bound=_Adds)


@dataclass(frozen=True, slots=True)
class SomeRows:
    """At most MOST_ROWS rows of a table, drawn by their numbers: the same wherever the pieces are cut.

    frame : the rows, by their numbers. key : (n,) the smallest of all rows'.
    """

    frame: pd.DataFrame
    key: np.ndarray

    @classmethod
    def of(cls, frame: pd.DataFrame) -> SomeRows:
        """Of a piece whose index is the number of each row in the table."""
        key = pd.util.hash_array(frame.index.to_numpy().astype(np.uint64))
        return cls(frame, key)._fewest()

    def __add__(self, other: SomeRows) -> SomeRows:
        both = pd.concat([self.frame, other.frame])
        return SomeRows(both, np.concatenate([self.key, other.key]))._fewest()

    def _fewest(self) -> SomeRows:
        if len(self.key) <= MOST_ROWS:
            return self
        at = np.sort(np.argpartition(self.key, MOST_ROWS)[:MOST_ROWS])
        return SomeRows(self.frame.iloc[at], self.key[at])


@dataclass(frozen=True, slots=True)
class WithRows(Generic[R]):
    """What a pass over a table adds up, and some of its rows."""

    made: R
    rows: SomeRows

    def __add__(self, other: WithRows[R]) -> WithRows[R]:
        return WithRows(self.made + other.made, self.rows + other.rows)


def with_rows(
    function: Callable[[pd.DataFrame], R | None], fit: Fit, frame: pd.DataFrame
) -> WithRows[R] | None:
    """What the function makes of a piece, and some of its rows, as a comparison reads them."""
    made = function(frame)
    if made is None:
        return None
    return WithRows(made, SomeRows.of(frame[columns_compared(fit, list(frame.columns))]))


def drift_of_frame(fit: Fit, frame: Any) -> Drift:
    """A table of any kind that is fitted beside the fitted rows."""
    if is_partitioned(frame):
        columns = columns_compared(fit, list(frame.columns))
        share = min(1.0, MOST_ROWS / max(len(frame), 1))
        some = frame[columns].sample(frac=share, random_state=0) if share < 1.0 else frame[columns]
        return compare_fit(fit, {"": some.compute().reset_index(drop=True)}, refuse=False)
    if is_streamed(frame):
        streamed = StreamPieces(frame, tuple(columns_compared(fit, stream_columns(frame))))
        return compare_fit(fit, {"": streamed.add_up(SomeRows.of).frame}, refuse=False)
    return compare_frame(fit, frame, refuse=False)


def drift_of_files(fit: Fit, tables: Sequence[str | os.PathLike[str]]) -> Drift:
    """Files beside the fitted rows."""
    sources = [look_at(os.fspath(table), fit.roles.text) for table in tables]
    return compare_fit(fit, _frames(fit, sources), refuse=False)


def check_sources(fit: Fit, sources: Sequence[Source]) -> Drift | None:
    """Refuse files in other units before anything is written.

    None where rows cannot be read as the fit reads them: who reads all of them says why, and in which rows.
    """
    return if_readable(lambda: compare_fit(fit, _frames(fit, sources), refuse=True))


def _frames(fit: Fit, sources: Sequence[Source]) -> dict[str, pd.DataFrame]:
    most = max(MOST_ROWS // max(len(sources), 1), 100)
    return {f"'{source.path}'": pd.concat(_some(fit, source, most)) for source in sources}


def _some(fit: Fit, source: Source, most: int) -> Iterator[pd.DataFrame]:
    """At most so many rows of a file, a frame for each place where they were read."""
    columns = columns_compared(fit, list(source.columns))
    if source.plan is None and source.rows > WHOLE:
        length = min(most, source.rows) // PLACES
        for start in np.linspace(0, source.rows - length, PLACES).astype(int).tolist():
            for table in batches(source, start, start + length):
                yield _frame(source, table.select(columns), start)
        return
    at, first = chosen(source.rows, most), 0
    for table in batches(source, 0, source.rows, as_text=source.plan is not None):
        here = at[(at >= first) & (at < first + table.num_rows)] - first
        if len(here):
            yield _frame(source, table.select(columns).take(pa.array(here)), first)
        first += table.num_rows


def _frame(source: Source, table: pa.Table, first: int) -> pd.DataFrame:
    frame = table.to_pandas(ignore_metadata=True) if source.plan is None else source.plan.frame(table)
    return frame.set_axis(pd.RangeIndex(first, first + len(frame)), axis=0)
