"""Tables that a browser sent: bytes in a folder of ours become a table, or one message that says why not.

The name that the browser gave is text for people. It chooses how the bytes are read, by its ending, and is
never opened.
"""

from __future__ import annotations

import csv
import datetime
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import ParseError

from proxycal.errors import ProxycalError, StoreError, TableError
from proxycal.files import atomic_file, read_table
from proxycal.limits import check_file

if TYPE_CHECKING:
    import pandas as pd

MEGABYTE = 1_000_000
LIMIT = 200 * MEGABYTE
# More than a person can give roles to on a page.
MAX_COLUMNS = 400
_READ = (".csv", ".csv.gz", ".parquet", ".xlsx")
_EXAMPLES, _LETTERS = 3, 24


@dataclass(frozen=True, slots=True)
class Table:
    """A table to calibrate.

    name : what its owner calls it. path : our own copy, CSV or Parquet. frame : its rows.
    note : what was done to it on the way in, "" if nothing was.
    """

    name: str
    path: Path
    frame: pd.DataFrame
    note: str = ""

    @property
    def excel(self) -> bool:
        """Whether it came as a workbook, which the command line reads only as the CSV made of it."""
        return self.name.lower().endswith(".xlsx")


def ending_of(name: str) -> str:
    """How a file of that name is read.

    >>> ending_of("Losses 2023.CSV")
    '.csv'
    """
    lower = name.lower()
    if lower.endswith(".pq"):
        return ".parquet"
    ending = next((ending for ending in _READ if lower.endswith(ending)), None)
    if ending is None:
        old = " (open an .xls file in Excel and save it as .xlsx)" if lower.endswith(".xls") else ""
        raise StoreError(
            f"'{name}' is not a table this page can read: save it as CSV, Excel (.xlsx) or Parquet{old}"
        )
    return ending


def too_large(limit: int) -> str:
    """What to do with a file that is larger than the page takes."""
    return (
        f"this file is larger than the {limit / MEGABYTE:g} MB that this page takes: leave out columns that "
        "have no role, or use `proxycal fit` on the command line, which has no such limit"
    )


def read_upload(path: Path, name: str) -> Table:
    """The table in our copy `path` of the file that its owner calls `name`."""
    note = ""
    try:
        if ending_of(name) == ".xlsx":
            path, note = _from_excel(path)
        frame = read_table(path)
    except ProxycalError as error:
        # Our own path means nothing to the person: they know the file by its name.
        raise type(error)(str(error).replace(str(path), name)) from error
    if frame.shape[1] > MAX_COLUMNS:
        raise TableError(
            f"'{name}' has {frame.shape[1]} columns, and this page shows at most {MAX_COLUMNS}: leave out "
            "those that have no role, or use `proxycal fit` on the command line"
        )
    return Table(name, path, frame, note)


def examples(values: pd.Series) -> str:
    """A few of the values of a column, as text.

    >>> import pandas as pd
    >>> examples(pd.Series(["a", "a", "b", None, "c", "d"]))
    'a, b, c, …'
    """
    distinct = list(dict.fromkeys(_text(value) for value in values.dropna().head(1000)))
    more = ", …" if len(distinct) > _EXAMPLES else ""
    return ", ".join(distinct[:_EXAMPLES]) + more


def preview(frame: pd.DataFrame, rows: int = 5) -> list[list[str]]:
    """The first rows as text, a gap where a value is missing."""
    top = frame.head(rows)
    return [
        ["" if gap else _text(value) for value, gap in zip(row, gaps, strict=True)]
        for row, gaps in zip(top.astype(object).to_numpy(), top.isna().to_numpy(), strict=True)
    ]


def excel_to_csv(workbook: Path | str, target: Path | str) -> str:
    """Write the first sheet of a workbook as CSV, every number to its last digit; return the sheet's name."""
    title, rows = _sheet(Path(workbook))
    header = [_cell(value) for value in rows[0]] if rows else []
    while header and not header[-1].strip():
        header.pop()
    if not header:
        raise StoreError(
            f"the first sheet of '{workbook}' is empty: the first row must hold the column names"
        )
    width = len(header)
    for number, row in enumerate(rows[1:], start=2):
        if any(value is not None for value in row[width:]):
            raise StoreError(
                f"row {number} of '{workbook}' has a value beyond the last named column: name that column, "
                "or clear the cell"
            )
    blank = [position for position, name in enumerate(header, start=1) if not name.strip()]
    if blank:
        raise StoreError(
            f"column {blank[0]} of '{workbook}' has no name: the first row must hold the names of all columns"
        )
    with atomic_file(target) as place, place.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(
            [_cell(value) for value in row[:width]] for row in rows[1:] if any(v is not None for v in row)
        )
    return title


def _from_excel(path: Path) -> tuple[Path, str]:
    target = path.with_suffix(".csv")
    title = excel_to_csv(path, target)
    return target, f"The sheet '{title}' was read, the first of the workbook."


def _sheet(workbook: Path) -> tuple[str, list[tuple[Any, ...]]]:
    import openpyxl

    check_file(workbook)
    try:
        book = openpyxl.load_workbook(workbook, read_only=True, data_only=True)
        try:
            sheet = book.worksheets[0]
            return str(sheet.title), list(sheet.iter_rows(values_only=True))
        finally:
            book.close()
    except (zipfile.BadZipFile, KeyError, ValueError, IndexError, TypeError, EOFError, ParseError) as error:
        raise StoreError(
            f"'{workbook}' is not a readable Excel workbook ({type(error).__name__}): open it in Excel, save "
            "it again as .xlsx or CSV"
        ) from error


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else str(value)


def _text(value: Any) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split())
    return text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "…"
