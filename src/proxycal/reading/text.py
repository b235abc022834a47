"""Tables of text, a few rows at a time and every value as it stands: CSV, TSV and workbooks."""

from __future__ import annotations

import csv
import gzip
import itertools
import warnings
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa

from proxycal.errors import StoreError
from proxycal.files import explained, first_line
from proxycal.limits import readable
from proxycal.reading.head import SAMPLE, Head, head_of
from proxycal.reading.layout import layout_of, opened_text
from proxycal.reading.workbook import Sheet, chosen_sheet, sheet_rows, sheets_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from proxycal.reading.layout import Layout
    from proxycal.reading.options import Reading


@dataclass(frozen=True, slots=True)
class Form:
    """How a file holds its table.

    head : where its columns stand and its rows begin. layout : of a text file, None for a workbook. sheet :
    the one that is read, sheets : all of the workbook. width : cells of the widest row that was looked at.
    """

    head: Head
    layout: Layout | None = None
    sheet: str = ""
    sheets: tuple[Sheet, ...] = field(default=())
    width: int = 0

    @property
    def first_row(self) -> int:
        """The row of the file with the first row of data; the first row of a file is 1."""
        return self.head.first + 1 + (0 if self.layout is None else self.layout.skipped)


def form_of(path: Path, kind: str, reading: Reading) -> Form:
    """Find out how a file holds its table; StoreError where that cannot be told, or names are there twice."""
    with explained(path, "read"), text_explained(path):
        layout: Layout | None = None
        sheets: tuple[Sheet, ...] = ()
        sheet = ""
        if kind == "text":
            layout = layout_of(path)
        else:
            sheets = sheets_of(path)
            sheet = chosen_sheet(path, sheets, reading.sheet).name
        records = list(itertools.islice(_records(path, layout, sheet), SAMPLE))
    skipped = 0 if layout is None else layout.skipped
    asked = None if reading.header_row is None else reading.header_row - skipped
    head = head_of(records, asked) if asked is None or asked > 0 else None
    if head is None:
        raise StoreError(_no_head(path, records, reading, sheet))
    refuse_duplicates(path, head.names, head.places)
    _refuse_irregular(path, records, head, layout is None)
    width = max([len(record) for record in records], default=0)
    return Form(head, layout, sheet, sheets, max(width, max(head.places) + 1))


def _no_head(path: Path, records: Sequence[Sequence[str]], reading: Reading, sheet: str) -> str:
    where = f"the sheet '{sheet}' of '{path}'" if sheet else f"'{path}'"
    if not any(cell.strip() for record in records for cell in record):
        return f"{where} is empty: it needs a row of column names and rows below it"
    if reading.header_row is not None:
        return f"row {reading.header_row} of {where} holds no column names: name another as the header row"
    return (
        f"{where} has no row of column names above its numbers: add one, or say which row it is with "
        "--header-row (header_row= in Python)"
    )


def _refuse_irregular(path: Path, records: Sequence[Sequence[str]], head: Head, workbook: bool) -> None:
    """Refuse a first row of names that is shorter than the rows below it."""
    if not head.unnamed or head.rows[-1] != 1:
        return
    named = [name for name in head.names if name not in head.unnamed]
    first = next((record for record in records[head.first :] if any(record)), [])
    at_the_end = head.names[: len(named)] == tuple(named) and len(first) > len(named) > 0
    if at_the_end and workbook:
        raise StoreError(
            f"row {head.first + 1} of '{path}' has a value beyond the last named column: name that "
            "column, or clear the cell"
        )
    if at_the_end:
        raise StoreError(
            f"'{path}' is not a regular CSV: its header has {len(named)} names and the first row "
            f"{len(first)} values; check that every row has as many fields as the header, and that "
            "numbers with decimal commas are separated by semicolons"
        )


def text_tables(path: Path, form: Form, rows: int) -> Iterator[pa.Table]:
    """All rows below the head as strings, `rows` rows at a time; blank rows are there as well."""
    return _sheet_tables(path, form, rows) if form.layout is None else _csv_tables(path, form, rows)


def refuse_duplicates(path: Path, header: Sequence[str], places: Sequence[int] | None = None) -> None:
    """Refuse a table with two columns of one name; places : where each stands, if not side by side."""
    seen: dict[str, int] = {}
    for position, name in enumerate(header):
        first = seen.setdefault(name, position)
        if name.strip() and first < position:
            one, other = (at if places is None else places[at] for at in (first, position))
            raise StoreError(
                f"'{path}' has two columns named '{name}' (columns {one + 1} and {other + 1}): "
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


def _records(path: Path, layout: Layout | None, sheet: str) -> Iterator[list[str]]:
    """The rows of the file as lists of cells."""
    if layout is None:
        yield from sheet_rows(path, sheet)
        return
    with opened_text(path, layout.encoding) as lines:
        for _ in range(layout.skipped):
            lines.readline()
        yield from csv.reader(lines, delimiter=layout.separator)


def _csv_tables(path: Path, form: Form, rows: int) -> Iterator[pa.Table]:
    assert form.layout is not None
    head, layout = form.head, form.layout
    options: dict[str, Any] = {
        "sep": layout.separator,
        "header": None,
        "names": range(form.width if not head.regular else len(head.names)),
        "index_col": False,
        "dtype": str,
        "keep_default_na": False,
        "na_filter": False,
        "skip_blank_lines": False,
        "chunksize": rows,
    }
    with explained(path, "read"), opened_text(path, layout.encoding) as lines:
        with text_explained(path):
            for _ in range(layout.skipped):
                lines.readline()
            above = csv.reader(lines, delimiter=layout.separator)
            for _ in range(head.first):
                next(above, None)
            try:
                reader = pd.read_csv(lines, **options)
            except pd.errors.EmptyDataError:
                return
        with reader:
            while True:
                with readable(path), text_explained(path):
                    chunk = next(reader, None)
                if chunk is None:
                    return
                columns = [pa.array(chunk[place], type=pa.string()).fill_null("") for place in head.places]
                yield pa.table(columns, names=list(head.names))


def _sheet_tables(path: Path, form: Form, rows: int) -> Iterator[pa.Table]:
    places, width = form.head.places, max(form.head.places) + 1
    read = enumerate(sheet_rows(path, form.sheet), start=1)
    below = itertools.islice(read, form.head.first, None)
    while True:
        with explained(path, "read"), readable(path):
            piece = []
            for number, row in itertools.islice(below, rows):
                if form.head.regular and any(row[width:]):
                    raise StoreError(
                        f"row {number} of '{path}' has a value beyond the last named column: name that "
                        "column, or clear the cell"
                    )
                padded = [*row, *[""] * (width - len(row))]
                piece.append([padded[place] for place in places])
        if not piece:
            return
        columns = [pa.array(values, type=pa.string()) for values in zip(*piece, strict=True)]
        yield pa.table(columns, names=list(form.head.names))
