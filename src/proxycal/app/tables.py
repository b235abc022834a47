"""Tables that a browser sent: bytes in a folder of ours become a table, or one message that says why not.

The name that the browser gave is text for people. It chooses how the bytes are read, by its ending, and is
never opened.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from proxycal.errors import ProxycalError, StoreError, TableError
from proxycal.reading.options import Reading
from proxycal.reading.plan import ENDINGS
from proxycal.reading.table import read_table, understood
from proxycal.reading.workbook import chosen_sheet, sheets_of

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

MEGABYTE = 1_000_000
LIMIT = 200 * MEGABYTE
# More than a person can give roles to on a page.
MAX_COLUMNS = 400
_EXAMPLES, _LETTERS = 3, 24


@dataclass(frozen=True, slots=True)
class Table:
    """A table to calibrate.

    name : what its owner calls it. path : our own copy. frame : its rows.
    note : what had to be understood of it, "" if nothing had. reading : how it was read. sheet : that was
    read. sheets : of a workbook, each with its size in words. totals : which rows are totals of others.
    """

    name: str
    path: Path
    frame: pd.DataFrame
    note: str = ""
    reading: Reading = field(default_factory=Reading)
    sheet: str = ""
    sheets: tuple[tuple[str, str], ...] = ()
    totals: str = ""


def ending_of(name: str) -> str:
    """How a file of that name is read.

    >>> ending_of("Losses 2023.CSV")
    '.csv'
    """
    lower = name.lower()
    ending = next((ending for ending in ENDINGS if lower.endswith(ending)), None)
    if ending is None:
        old = " (open an .xls file in Excel and save it as .xlsx)" if lower.endswith(".xls") else ""
        raise StoreError(
            f"'{name}' is not a table this page can read: save it as CSV, Excel (.xlsx) or Parquet{old}"
        )
    return ".parquet" if ending == ".pq" else ending


def too_large(limit: int) -> str:
    """What to do with a file that is larger than the page takes."""
    return (
        f"this file is larger than the {limit / MEGABYTE:g} MB that this page takes: leave out columns that "
        "have no role, or use `proxycal fit` on the command line, which has no such limit"
    )


def read_upload(path: Path, name: str, reading: Reading | None = None) -> Table:
    """The table in our copy `path` of the file that its owner calls `name`, read as they say.

    Rows that are totals of others are left out where nothing was said of them, and the page says which.
    """
    reading, totals = Reading() if reading is None else reading, ""
    try:
        try:
            frame = _read(path, reading)
        except ProxycalError as error:
            if reading.total_rows is not None:
                raise
            reading = replace(reading, total_rows="drop")
            frame = _read(path, reading)
            totals = _first_sentence(str(error).replace(f"'{path}': ", ""))
        sheets = sheets_of(path) if path.suffix == ".xlsx" else ()
        sheet = chosen_sheet(path, sheets, reading.sheet).name if sheets else ""
    except ProxycalError as error:
        # Our own path means nothing to the person: they know the file by its name.
        raise type(error)(str(error).replace(str(path), name)) from error
    if frame.shape[1] > MAX_COLUMNS:
        raise TableError(
            f"'{name}' has {frame.shape[1]} columns, and this page shows at most {MAX_COLUMNS}: leave out "
            "those that have no role, or use `proxycal fit` on the command line"
        )
    said = understood(frame)
    sizes = tuple((one.name, f"{one.rows:,} rows, {one.columns} columns") for one in sheets)
    note = f"Understood: {said}." if said else ""
    return Table(name, path, frame, note, reading, sheet, sizes, totals)


def _read(path: Path, reading: Reading) -> pd.DataFrame:
    return read_table(path, **{one.name: getattr(reading, one.name) for one in fields(reading)})


def _first_sentence(message: str) -> str:
    """Which rows are totals, of a message that goes on with what to do about them."""
    return message.partition(". ")[0] + "."


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


def _text(value: Any) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split())
    text = text.removesuffix(" 00:00:00")  # a date without a time
    return text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "…"
