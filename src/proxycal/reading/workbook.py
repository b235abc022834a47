"""The first sheet of an Excel workbook as rows of text, every number to its last digit."""

from __future__ import annotations

import datetime
import re
import zipfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import ParseError  # nosec B405 # openpyxl parses; this names its error

from proxycal.errors import StoreError, UnavailableError
from proxycal.extras import is_installed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def sheet_rows(path: Path) -> Iterator[list[str]]:
    """The rows of the first sheet, the header first; rows without a value are left out."""
    with _book(path) as book:
        header: list[str] = []
        for number, row in enumerate(book.worksheets[0].iter_rows(), start=1):
            cells = [cell_text(cell.value, getattr(cell, "number_format", "")) for cell in row]
            if number == 1:
                header = _header(path, cells)
                yield header
            elif any(cells):
                if any(cells[len(header) :]):
                    raise StoreError(
                        f"row {number} of '{path}' has a value beyond the last named column: name that "
                        "column, or clear the cell"
                    )
                yield [*cells, *[""] * (len(header) - len(cells))][: len(header)]
        if not header:
            raise StoreError(
                f"the first sheet of '{path}' is empty: the first row must hold the column names"
            )


def sheet_name(path: Path) -> str:
    """What the first sheet is called, where the workbook has others; "" where it is the only one."""
    with _book(path) as book:
        return str(book.worksheets[0].title) if len(book.worksheets) > 1 else ""


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


def _header(path: Path, cells: list[str]) -> list[str]:
    while cells and not cells[-1].strip():
        cells.pop()
    if not cells:
        raise StoreError(f"the first sheet of '{path}' is empty: the first row must hold the column names")
    for position, name in enumerate(cells, start=1):
        if not name.strip():
            raise StoreError(
                f"column {position} of '{path}' has no name: the first row must hold the names of all columns"
            )
    return cells


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
