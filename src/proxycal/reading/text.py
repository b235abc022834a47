"""Tables of text, a few rows at a time and every value as it stands: CSV, TSV and workbooks."""

from __future__ import annotations

import csv
import gzip
import itertools
import warnings
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa

from proxycal.errors import StoreError
from proxycal.files import explained, first_line
from proxycal.limits import readable
from proxycal.reading.layout import layout_of, opened_text
from proxycal.reading.workbook import sheet_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from proxycal.reading.layout import Layout


def text_tables(path: Path, layout: Layout | None, rows: int) -> Iterator[pa.Table]:
    """The table as strings, `rows` rows at a time; a workbook has no layout."""
    return _sheet_tables(path, rows) if layout is None else _csv_tables(path, layout, rows)


def text_layout(path: Path) -> Layout:
    """The layout of a CSV or TSV file, whose header must name every column once."""
    with text_explained(path):
        layout = layout_of(path)
        with opened_text(path, layout.encoding) as lines:
            for _ in range(layout.skipped):
                lines.readline()
            rows = csv.reader(lines, delimiter=layout.separator)
            header: list[str] = next((row for row in rows if row), [])
            first: list[str] = next((row for row in rows if row), [])
        refuse_duplicates(path, header)
        if len(first) > len(header) > 0:
            raise StoreError(
                f"'{path}' is not a regular CSV: its header has {len(header)} names and the first row "
                f"{len(first)} values; check that every row has as many fields as the header, and that "
                "numbers with decimal commas are separated by semicolons"
            )
    return layout


def refuse_duplicates(path: Path, header: Sequence[str]) -> None:
    """Refuse a table with two columns of one name."""
    seen: dict[str, int] = {}
    for position, name in enumerate(header):
        first = seen.setdefault(name, position)
        if name.strip() and first < position:
            raise StoreError(
                f"'{path}' has two columns named '{name}' (columns {first + 1} and {position + 1}): "
                "rename or remove one of them"
            )


@contextmanager
def text_explained(path: Path) -> Iterator[None]:
    """Turn what can be wrong with a text table into one message that names the path."""
    try:
        with warnings.catch_warnings():
            # pandas drops the surplus fields of long rows and only warns: that is lost data.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            yield
    except (pd.errors.ParserError, pd.errors.ParserWarning, csv.Error) as error:
        raise StoreError(
            f"'{path}' is not a regular CSV: {first_line(error)}; "
            "check that every row has as many fields as the header"
        ) from error
    except pd.errors.EmptyDataError:
        raise StoreError(f"'{path}' is empty: a CSV needs a header line and rows") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise StoreError(
            f"'{path}' is not a complete gzip file ({error}): copy or compress it again"
        ) from error


def _csv_tables(path: Path, layout: Layout, rows: int) -> Iterator[pa.Table]:
    options: dict[str, Any] = {
        "sep": layout.separator,
        "encoding": layout.encoding,
        "skiprows": layout.skipped,
        "index_col": False,
        "dtype": str,
        "keep_default_na": False,
        "na_filter": False,
        "chunksize": rows,
    }
    with explained(path, "read"), text_explained(path):
        reader = pd.read_csv(path, **options)
    with reader:
        while True:
            with explained(path, "read"), readable(path), text_explained(path):
                chunk = next(reader, None)
            if chunk is None:
                return
            columns = [pa.array(chunk[name], type=pa.string()) for name in chunk.columns]
            yield pa.table(columns, names=[str(name) for name in chunk.columns])


def _sheet_tables(path: Path, rows: int) -> Iterator[pa.Table]:
    with explained(path, "read"):
        read = sheet_rows(path)
        header = next(read, [])
        refuse_duplicates(path, header)
        while True:
            with readable(path):
                piece = list(itertools.islice(read, rows))
            if not piece:
                return
            columns = [pa.array(values, type=pa.string()) for values in zip(*piece, strict=True)]
            yield pa.table(columns, names=header)
