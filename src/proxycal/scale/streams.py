"""Tables that come in batches: a DuckDB relation, ibis table, polars LazyFrame, or Arrow reader.

fit        reads a table more than once: the columns of the roles are first written to a temporary
           Parquet file, batch by batch, and that is fitted as any file is
calibrate  each batch is answered as it is asked for
totals     each batch is added up as it comes
"""

from __future__ import annotations

import tempfile
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from proxycal.drift.run import check_frame, warn_of
from proxycal.errors import ProxycalWarning, TableError
from proxycal.parallel import ONE_THREAD
from proxycal.result import OUTPUT_COLUMNS
from proxycal.scale.piece import calibrate_piece, needed_columns, refuse_taken
from proxycal.scale.pieces import Pieces
from proxycal.scale.sources import BATCH
from proxycal.table.wording import columns_named, counted, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from proxycal.result import Fit

# A record with `+`.
R = TypeVar("R")


def is_streamed(table: Any) -> bool:
    """Whether something comes in batches, found out without loading the library that it is of.

    >>> is_streamed(pa.table({"a": [1]}).to_reader()), is_streamed(pd.DataFrame())
    (True, False)
    """
    if isinstance(table, pa.RecordBatchReader):
        return True
    module, name = type(table).__module__, type(table).__name__
    return (
        (module.startswith("polars.") and name == "LazyFrame")
        or (module.startswith(("duckdb", "_duckdb")) and name == "DuckDBPyRelation")
        or (module.startswith("ibis.") and hasattr(table, "to_pyarrow_batches"))
    )


@contextmanager
def spooled(table: Any, columns: Sequence[str]) -> Iterator[list[Path]]:
    """The columns of a streamed table as Parquet files that live as long as the block."""
    with tempfile.TemporaryDirectory(prefix="proxycal-") as folder:
        place = Path(folder, "table.parquet")
        rows, writer = 0, None
        for batch in _batches(table, columns):
            writer = writer or pq.ParquetWriter(place, batch.schema)
            writer.write_table(batch, row_group_size=BATCH)
            rows += batch.num_rows
        if writer is not None:
            writer.close()
        if not rows:
            raise _empty()
        yield [place]


def calibrate_stream(fit: Fit, table: Any) -> pa.RecordBatchReader:
    """The rows of a streamed table with the columns of `calibrate` beside them, answered as they are read.

    Every row gets the answer that it gets in a whole table; rows with gaps get none, and are counted in a
    warning at the end.
    """
    if fit.why_left_alone:
        warnings.warn(fit.why_left_alone, ProxycalWarning, stacklevel=3)
    have = _columns(table)
    refuse_taken(have, "the table")
    needed = needed_columns(fit, have)
    batches = _batches(table, have)
    first = next(batches, None)
    if first is None:
        raise _empty()
    warn_of(check_frame(fit, first.to_pandas(ignore_metadata=True)), stacklevel=3)
    answers = [pa.field(column.name, pa.float64()) for column in OUTPUT_COLUMNS]
    schema = pa.schema([*first.schema, *answers], metadata=None)

    # At once, so that what is wrong with the table is said here, and not where it is read.
    begun = _answered(fit, first, needed, 0)

    def answered() -> Iterator[pa.RecordBatch]:
        (done, gone), at = begun, first.num_rows
        yield from done.combine_chunks().cast(schema).to_batches()
        for batch in batches:
            done, unanswered = _answered(fit, batch, needed, at)
            at, gone = at + batch.num_rows, gone + unanswered
            yield from done.combine_chunks().cast(schema).to_batches()
        if gone:
            text = (
                f"{counted(gone, 'row')} of {at} had missing values and got no answer: fill the gaps, or fit "
                "with missing='impute'"
            )
            warnings.warn(text, ProxycalWarning, stacklevel=2)

    return pa.RecordBatchReader.from_batches(schema, answered())


def _answered(fit: Fit, batch: pa.Table, needed: Sequence[str], at: int) -> tuple[pa.Table, int]:
    frame = batch.select(needed).to_pandas(ignore_metadata=True)
    # Messages about rows name them by their number in the table.
    frame.index = pd.RangeIndex(at, at + len(frame))
    with ONE_THREAD:
        columns, has_answer = calibrate_piece(fit, frame)
    for name, values in columns.items():
        batch = batch.append_column(name, pa.array(values, from_pandas=True))
    return batch, int((~has_answer).sum())


@dataclass(frozen=True, slots=True)
class StreamPieces(Pieces):
    """A streamed table, which can be gone through once."""

    table: Any
    columns: tuple[str, ...]

    def add_up(self, function: Callable[[pd.DataFrame], R | None]) -> R:
        """Batch after batch, in this process."""
        total: R | None = None
        for made in self.in_turn(function):
            if made is not None:
                total = made if total is None else total + made  # type: ignore[operator]
        if total is None:
            raise _empty()
        return total

    def in_turn(self, function: Callable[[pd.DataFrame], R]) -> Iterator[R]:
        """In this process."""
        at = 0
        for batch in _batches(self.table, self.columns):
            frame = batch.to_pandas(ignore_metadata=True)
            frame.index = pd.RangeIndex(at, at + len(frame))
            with ONE_THREAD:
                yield function(frame)
            at += len(frame)


def stream_columns(table: Any) -> list[str]:
    """The names of the columns of a streamed table."""
    return _columns(table)


def _columns(table: Any) -> list[str]:
    if isinstance(table, pa.RecordBatchReader):
        return list(table.schema.names)
    if hasattr(table, "collect_schema"):
        return list(table.collect_schema().names())
    return list(table.columns)


def _refuse_absent(columns: Sequence[str], have: Sequence[str]) -> None:
    absent = [name for name in columns if name not in have]
    if absent:
        raise TableError(
            f"the table has no {columns_named(absent)}: it has {counted(len(have), 'column')}, "
            f"{listed(have, limit=8)}"
        )


def _batches(table: Any, columns: Sequence[str]) -> Iterator[pa.Table]:
    """The columns, BATCH rows at a time, so that a row is in the block that it is in of a whole table."""
    _refuse_absent(columns, _columns(table))
    held: list[pa.Table] = []
    rows = 0
    for part in _read(table, list(columns)):
        held.append(part)
        rows += part.num_rows
        while rows >= BATCH:
            whole = pa.concat_tables(held)
            yield whole.slice(0, BATCH)
            held, rows = [whole.slice(BATCH)], rows - BATCH
    if rows:
        yield pa.concat_tables(held)


def _read(table: Any, columns: list[str]) -> Iterator[pa.Table]:
    if hasattr(table, "collect_batches"):  # polars
        parts = table.select(columns).collect_batches(chunk_size=BATCH, maintain_order=True)
        yield from (part.to_arrow() for part in parts)
        return
    if hasattr(table, "collect_schema"):  # polars before 1.34 has no batches: its own engine sees to memory
        yield table.select(columns).collect(engine="streaming").to_arrow()
        return
    if hasattr(table, "to_pyarrow_batches"):  # ibis
        reader = table.select(columns).to_pyarrow_batches(chunk_size=BATCH)
    elif hasattr(table, "to_arrow_reader"):  # DuckDB
        reader = table.to_arrow_reader(BATCH)
    elif hasattr(table, "fetch_record_batch"):  # DuckDB before 1.4
        reader = table.fetch_record_batch(BATCH)
    else:
        reader = table
    for batch in reader:
        yield pa.Table.from_batches([batch]).select(columns)


def _empty() -> TableError:
    return TableError("the table is empty (0 rows): check the query or the filter that made it")
