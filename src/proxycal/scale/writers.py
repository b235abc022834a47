"""Tables written as they come, row group by row group, under a temporary name until they are whole."""

from __future__ import annotations

import gzip
import io
import shutil
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from proxycal.errors import StoreError
from proxycal.files import atomic_file, first_line, kind_of, separator_of
from proxycal.scale.sources import BATCH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from proxycal.scale.sources import Source

    Write = Callable[[pa.Table], None]

# Whole numbers stay whole in a CSV, also beside gaps.
_WHOLE = {pa.int64(): pd.Int64Dtype(), pa.int32(): pd.Int32Dtype(), pa.int16(): pd.Int16Dtype()}


@dataclass(frozen=True, slots=True)
class TextStyle:
    """How a text table is written: what separates its columns, and the sign before decimals."""

    separator: str = ","
    decimal: str = "."


def style_like(source: Source, path: Path) -> TextStyle:
    """The style of a text table made of `source`: as that is written, so that the same program opens both."""
    if source.plan is None or source.plan.layout is None:
        return TextStyle(separator_of(path))
    given, decimal = source.plan.layout.separator, source.plan.decimal
    # A .csv that is made of a .tsv has commas, or semicolons where commas stand before decimals.
    is_tabs = given == "\t" and separator_of(source.path) == "\t"
    otherwise = (";" if decimal == "," else ",") if is_tabs else given
    return TextStyle(separator_of(path, otherwise), decimal)


@contextmanager
def table_writer(path: Path, header: bool = True, style: TextStyle | None = None) -> Iterator[Write]:
    """A function that adds a table to the text or Parquet file `path`, which appears whole or not at all.

    header : whether a text table begins with the names of its columns. style : of a text table, that of its
    ending if not given.
    """
    style = TextStyle(separator_of(path)) if style is None else style
    kind = kind_of(path)
    with atomic_file(path) as temporary, ExitStack() as opened:
        try:
            if kind == "csv":
                yield _csv_writer(opened.enter_context(_text(temporary)), header, style)
            else:
                yield _parquet_writer(temporary, opened)
        except (pa.ArrowException, UnicodeEncodeError) as error:
            advice = "write a .csv instead" if kind == "parquet" else "clean the text of that column"
            raise StoreError(f"'{path}' cannot be written: {first_line(error)}; {advice}") from error


def join(parts: Sequence[Path], path: Path) -> None:
    """One file of the rows of several of its kind, in order; those of a CSV have one header between them."""
    if kind_of(path) == "csv":
        with atomic_file(path) as temporary, temporary.open("wb") as whole:
            for part in parts:
                with part.open("rb") as content:  # gzip files, too, can follow each other
                    shutil.copyfileobj(content, whole)
        return
    with table_writer(path) as write:
        for part in parts:
            with pq.ParquetFile(part) as file:
                for batch in file.iter_batches(batch_size=BATCH, use_threads=False):
                    write(pa.Table.from_batches([batch]))


def _parquet_writer(path: Path, opened: ExitStack) -> Write:
    writers: list[pq.ParquetWriter] = []

    def write(table: pa.Table) -> None:
        if not writers:  # the first table says what the columns are
            # Decimals hardly repeat: a dictionary of them takes five times as long and a quarter more room.
            repeating = [one.name for one in table.schema if not pa.types.is_floating(one.type)]
            writers.append(
                opened.enter_context(pq.ParquetWriter(path, table.schema, use_dictionary=repeating))
            )
        writers[0].write_table(table, row_group_size=BATCH)

    return write


def _csv_writer(lines: IO[str], header: bool, style: TextStyle) -> Write:
    names = [header]

    def write(table: pa.Table) -> None:
        frame = table.to_pandas(types_mapper=_WHOLE.get, ignore_metadata=True)
        frame.to_csv(
            lines,
            index=False,
            header=names.pop() if names else False,
            sep=style.separator,
            decimal=style.decimal,
            lineterminator="\n",
        )

    return write


@contextmanager
def _text(path: Path) -> Iterator[IO[str]]:
    with path.open("wb") as raw:
        if not path.name.lower().endswith(".gz"):
            with io.TextIOWrapper(raw, encoding="utf-8", newline="") as lines:
                yield lines
            return
        # Without a name and a time in it, the same rows give the same bytes.
        with (
            gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed,
            io.TextIOWrapper(packed, encoding="utf-8", newline="") as lines,
        ):
            yield lines
