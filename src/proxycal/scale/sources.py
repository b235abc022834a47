"""Tables on disk, read a few rows at a time: Parquet by row groups, text and workbooks from their beginning.

A piece of a text table must be read as the whole would be: a column that is a number in the first rows and
text in later ones is text everywhere. So such a file is read once for its plan before anything else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from proxycal.errors import StoreError
from proxycal.files import explained
from proxycal.limits import check_file, parquet_facts, readable
from proxycal.reading.alike import read_alike
from proxycal.reading.plan import Plan, input_kind, plan_of, refuse_totals
from proxycal.reading.table import parquet_explained
from proxycal.reading.text import refuse_duplicates
from proxycal.table.wording import FILE_ROW

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Rows in memory at a time, and of a row group that is written.
BATCH = 65_536
# Bytes of a column that are read ahead, so that a long row group is not loaded at once.
_READ_AHEAD = 1 << 18


@dataclass(frozen=True, slots=True)
class Source:
    """A table on disk, as it was when it was looked at.

    kind : "parquet", "text" (CSV or TSV) or "workbook". bytes : of the file. rows, columns : what it holds.
    largest : rows of its largest row group. plan : how it is read, None for Parquet.
    """

    path: str
    kind: str
    bytes: int
    rows: int
    columns: tuple[str, ...]
    largest: int
    plan: Plan | None = None


def look_at(path: str, text: Sequence[str] = ()) -> Source:
    """Find out what a file holds, without keeping it in memory.

    text : as in `read_table`; a Parquet file says itself what its columns are.
    """
    place, kind = Path(path), input_kind(path)
    with explained(place, "read"):
        if place.is_dir():
            raise StoreError(f"'{path}' is a folder: name the files in it")
        check_file(place, rows_at_once=BATCH)
        size = place.stat().st_size
        if size == 0:
            raise StoreError(f"'{path}' is empty: check that it was exported completely")
        with readable(place):
            facts = _look_at_parquet(place) if kind == "parquet" else _look_at_text(place, text)
    if facts["rows"] == 0:
        raise StoreError(
            f"'{path}' has {len(facts['columns'])} columns and no rows: check that it was exported completely"
        )
    return Source(path=path, kind=kind, bytes=size, **facts)


def one_table(sources: Sequence[Source]) -> list[Source]:
    """The files of one table, each column read in one way in all of them."""
    plans = iter(read_alike([source.plan for source in sources if source.plan is not None]))
    return [source if source.plan is None else replace(source, plan=next(plans)) for source in sources]


def fits_in_memory(path: str, rows: int) -> bool:
    """Whether a file is read whole: Parquet of at most so many rows, or what is no Parquet at all."""
    facts = parquet_facts(Path(path)) if Path(path).is_file() else None
    return facts is None or facts.num_rows <= rows


def labels_of(source: Source, start: int, rows: int) -> pd.Index:
    """What messages call rows of a file: their row in it, where some are left out, else their position."""
    of_file = None if source.plan is None else source.plan.rows_of_file
    if of_file is None:
        return pd.RangeIndex(start, start + rows)
    return pd.Index(of_file[start : start + rows], name=FILE_ROW)


def batches(source: Source, start: int, stop: int, *, as_text: bool = False) -> Iterator[pa.Table]:
    """The rows from start to stop in their order, BATCH at a time and what is left at the end.

    `start` is 0 for what is no Parquet, which can only be read from its beginning. as_text : its values as
    they stand in the file; else in their types.
    """
    if source.plan is None:
        return _even(_parquet_tables(source, start, stop), stop - start)
    plan, tables = source.plan, source.plan.text(BATCH)
    return _even(tables if as_text else map(plan.table, tables), stop - start)


def _look_at_parquet(path: Path) -> dict[str, Any]:
    with parquet_explained(path), pq.ParquetFile(path) as file:
        names = file.schema_arrow.names
        refuse_duplicates(path, names)
        groups = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
    return {"rows": sum(groups), "columns": tuple(names), "largest": max(groups, default=0)}


def _parquet_tables(source: Source, start: int, stop: int) -> Iterator[pa.Table]:
    path = Path(source.path)
    with explained(path, "read"), parquet_explained(path):
        file = pq.ParquetFile(path, buffer_size=_READ_AHEAD, pre_buffer=False)
    with file:
        wanted: list[int] = []
        skip = at = 0
        for group in range(file.metadata.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            if at < stop and at + rows > start:
                skip = skip if wanted else start - at
                wanted.append(group)
            at += rows
        read = file.iter_batches(batch_size=BATCH, row_groups=wanted, use_threads=False)
        while True:
            with explained(path, "read"), readable(path), parquet_explained(path):
                batch = next(read, None)
                if batch is None:
                    return
                batch.validate(full=True)
                # Read here, where it can be said to be damaged: whoever makes a frame of it reads it again.
                _ = batch.schema.pandas_metadata
            if skip < batch.num_rows:
                yield pa.Table.from_batches([batch.slice(skip)])
            skip = max(skip - batch.num_rows, 0)


def _look_at_text(path: Path, text: Sequence[str]) -> dict[str, Any]:
    plan = plan_of(path, text)
    refuse_totals(plan)
    return {"rows": plan.rows, "columns": plan.columns, "largest": plan.rows, "plan": plan}


def _even(tables: Iterator[pa.Table], rows: int) -> Iterator[pa.Table]:
    """The first `rows` rows of the tables, cut anew into tables of BATCH rows."""
    held: list[pa.Table] = []
    for table in tables:
        held.append(table)
        while rows > 0 and (size := min(BATCH, rows)) <= sum(one.num_rows for one in held):
            whole = pa.concat_tables(held)
            held = [whole.slice(size)]
            rows -= size
            yield whole.slice(0, size)
        if rows == 0:
            return
