"""Tables on disk, read a few rows at a time: Parquet by row groups, CSV in chunks.

A piece of a CSV must be read as the whole would be: a column that is a number in the first chunk and text in
a later one is text everywhere. So a CSV is read once for the types of its columns before anything else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from proxycal.errors import StoreError
from proxycal.files import (
    check_header,
    csv_explained,
    csv_options,
    explained,
    kind_of,
    parquet_explained,
    refuse_duplicates,
)
from proxycal.limits import check_file, readable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Rows in memory at a time, and of a row group that is written.
BATCH = 65_536
# Bytes of a column that are read ahead, so that a long row group is not loaded at once.
_READ_AHEAD = 1 << 18
_NUMBERS = ("int64", "uint64", "float64")
_ARROW = {name: pa.type_for_alias(name) for name in (*_NUMBERS, "bool", "string")} | {
    "boolean": pa.bool_(),
    "str": pa.string(),
}


@dataclass(frozen=True, slots=True)
class Source:
    """A table on disk, as it was when it was looked at.

    bytes : of the file. rows, columns : what it holds. largest : rows of its largest row group.
    types : of the columns of a CSV, by name.
    """

    path: str
    kind: str
    bytes: int
    rows: int
    columns: tuple[str, ...]
    largest: int
    types: dict[str, str] = field(default_factory=dict)


def look_at(path: str, text: Sequence[str] = ()) -> Source:
    """Find out what a file holds, without keeping it in memory.

    text : as in `read_table`, for a CSV; a Parquet file says itself what its columns are.
    """
    place, kind = Path(path), kind_of(path)
    with explained(place, "read"):
        if place.is_dir():
            raise StoreError(f"'{path}' is a folder: name the CSV or Parquet files in it")
        check_file(place, rows_at_once=BATCH)
        size = place.stat().st_size
        if size == 0:
            raise StoreError(f"'{path}' is empty: check that it was exported completely")
        with readable(place):
            facts = _look_at_csv(place, text) if kind == "csv" else _look_at_parquet(place)
    if facts["rows"] == 0:
        raise StoreError(
            f"'{path}' has {len(facts['columns'])} columns and no rows: check that it was exported completely"
        )
    return Source(path=path, kind=kind, bytes=size, **facts)


def fits_in_memory(path: str, rows: int) -> bool:
    """Whether a file is read whole: Parquet of at most so many rows, or what is no Parquet at all."""
    if not Path(path).is_file():
        return True
    try:
        return pq.read_metadata(path).num_rows <= rows
    except (OSError, pa.ArrowException):
        return True


def batches(source: Source, start: int, stop: int) -> Iterator[pa.Table]:
    """The rows from start to stop in their order, BATCH at a time and what is left at the end.

    `start` is 0 for a CSV, which can only be read from its beginning.
    """
    read = _csv_tables(source) if source.kind == "csv" else _parquet_tables(source, start, stop)
    return _even(read, stop - start)


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
            if skip < batch.num_rows:
                yield pa.Table.from_batches([batch.slice(skip)])
            skip = max(skip - batch.num_rows, 0)


def _look_at_csv(path: Path, text: Sequence[str]) -> dict[str, Any]:
    seen: dict[str, set[str]] = {}
    rows = 0
    for chunk in _csv_chunks(path, csv_options(text)):
        rows += len(chunk)
        for name in chunk.columns:
            seen.setdefault(str(name), set()).add("string" if name in text else _type_of(chunk[name]))
    types = {name: _common_type(kinds) for name, kinds in seen.items()}
    return {"rows": rows, "columns": tuple(seen), "largest": rows, "types": types}


def _csv_tables(source: Source) -> Iterator[pa.Table]:
    schema = pa.schema([(name, _ARROW[source.types[name]]) for name in source.columns])
    for chunk in _csv_chunks(Path(source.path), csv_options(()) | {"dtype": source.types}):
        yield pa.Table.from_pandas(chunk, schema=schema, preserve_index=False)


def _csv_chunks(path: Path, options: dict[str, Any]) -> Iterator[pd.DataFrame]:
    with explained(path, "read"), csv_explained(path):
        check_header(path)
        reader = pd.read_csv(path, chunksize=BATCH, **options)
    with reader:
        while True:
            with explained(path, "read"), readable(path), csv_explained(path):
                chunk = next(reader, None)
            if chunk is None:
                return
            yield chunk


def _type_of(column: pd.Series) -> str:
    if column.isna().all():
        return "empty"
    name = str(column.dtype)
    if name in _NUMBERS or name == "bool":
        return name
    return "boolean" if pd.api.types.infer_dtype(column, skipna=True) == "boolean" else "str"


def _common_type(kinds: set[str]) -> str:
    """What pandas would make of the whole column, from what it makes of its pieces.

    >>> _common_type({"int64"}), _common_type({"int64", "empty"}), _common_type({"int64", "str"})
    ('int64', 'float64', 'str')
    """
    if len(kinds) == 1:
        return "float64" if kinds == {"empty"} else next(iter(kinds))
    if kinds - {"empty"} <= {"bool", "boolean"}:
        return "boolean"
    return "float64" if kinds - {"empty"} <= set(_NUMBERS) else "str"


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
