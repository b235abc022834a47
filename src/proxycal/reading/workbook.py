"""The sheets of an Excel workbook as rows of text, every number to its last digit."""

from __future__ import annotations

import datetime
import re
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import ParseError  # nosec B405 # openpyxl parses; this names its error

from proxycal.errors import StoreError, UnavailableError
from proxycal.extras import is_installed
from proxycal.reading.cells import is_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

# Rows of a sheet that are looked at to tell a table from a cover page.
_SAMPLE = 200


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet of a workbook.

    rows, columns : its size, up to the last cell that holds something. numbers : cells with numbers in it, as
    far as its first rows tell. hidden : whether Excel shows it.
    """

    name: str
    rows: int
    columns: int
    numbers: int
    hidden: bool = False


def sheets_of(path: Path) -> tuple[Sheet, ...]:
    """The sheets of a workbook, in their order."""
    with _book(path) as book:
        return tuple(_sheet(sheet) for sheet in book.worksheets)


def chosen_sheet(path: Path, sheets: Sequence[Sheet], asked: str | None) -> Sheet:
    """The sheet that was asked for by name or number; else the one with most numbers."""
    if asked is None:
        shown = [sheet for sheet in sheets if not sheet.hidden] or list(sheets)
        return max(shown, key=lambda sheet: sheet.numbers)
    named = [sheet for sheet in sheets if sheet.name.casefold() == asked.strip().casefold()]
    if not named and asked.strip().isdigit() and 1 <= int(asked) <= len(sheets):
        named = [sheets[int(asked) - 1]]
    if not named:
        listed = ", ".join(f"'{sheet.name}'" for sheet in sheets)
        raise StoreError(f"'{path}' has no sheet '{asked}': it has {listed}")
    return named[0]


def sheet_rows(path: Path, sheet: str) -> Iterator[list[str]]:
    """The rows of a sheet as they stand, from its first; cells without a value are "".

    A row that lies outside what the file says of its size is there as well.
    """
    with _book(path) as book:
        for row in book[sheet].iter_rows():
            yield [cell_text(cell.value, getattr(cell, "number_format", "")) for cell in row]


def cell_text(value: Any, format: str = "") -> str:
    """A cell as text; a number that is shown with leading zeros keeps them.

    >>> cell_text(1003, "00000"), cell_text(0.5), cell_text(datetime.datetime(2024, 5, 1))
    ('01003', '0.5', '2024-05-01')
    """
    if value is None:
        return ""
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and re.fullmatch("00+", format or ""):
        return f"{value:0{len(format)}d}"
    return str(value)


def _sheet(sheet: Any) -> Sheet:
    """Its size and how much of it is numbers; what a file says of its size may be far too large."""
    rows = columns = numbers = 0
    for at, row in enumerate(sheet.iter_rows(max_row=_SAMPLE, values_only=True), start=1):
        held = [place for place, value in enumerate(row, start=1) if value is not None]
        if held:
            rows, columns = at, max(columns, held[-1])
            numbers += sum(is_number(cell_text(row[place - 1])) for place in held)
    if rows == _SAMPLE:
        further = sheet.iter_rows(min_row=_SAMPLE + 1, values_only=True)
        for at, row in enumerate(further, start=_SAMPLE + 1):
            if any(value is not None for value in row):
                rows = at
        numbers = numbers * rows // _SAMPLE
    return Sheet(str(sheet.title), rows, columns, numbers, sheet.sheet_state != "visible")


@contextmanager
def _book(path: Path) -> Iterator[Any]:
    if not is_installed("openpyxl"):
        raise UnavailableError(
            f"'{path}' is an Excel workbook, which needs openpyxl: pip install 'proxycal[excel]', or save "
            "the sheet as CSV"
        )
    import openpyxl

    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            yield book
        finally:
            book.close()
    except (zipfile.BadZipFile, KeyError, ValueError, IndexError, TypeError, EOFError, ParseError) as error:
        raise StoreError(
            f"'{path}' is not a readable Excel workbook ({type(error).__name__}): open it in Excel, save it "
            "again as .xlsx or CSV"
        ) from error
