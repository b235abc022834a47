"""Tables that a browser sent: bytes in a folder of ours become a table, or one message that says why not.

The name that the browser gave is text for people. It chooses how the bytes are read, by its ending, and is
never opened.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proxycal.errors import ProxycalError, StoreError, TableError
from proxycal.reading.plan import ENDINGS
from proxycal.reading.table import read_table, understood

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
    note : what had to be understood of it, "" if nothing had.
    """

    name: str
    path: Path
    frame: pd.DataFrame
    note: str = ""


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


def read_upload(path: Path, name: str) -> Table:
    """The table in our copy `path` of the file that its owner calls `name`."""
    try:
        frame = read_table(path)
    except ProxycalError as error:
        # Our own path means nothing to the person: they know the file by its name.
        raise type(error)(str(error).replace(str(path), name)) from error
    if frame.shape[1] > MAX_COLUMNS:
        raise TableError(
            f"'{name}' has {frame.shape[1]} columns, and this page shows at most {MAX_COLUMNS}: leave out "
            "those that have no role, or use `proxycal fit` on the command line"
        )
    said = understood(frame)
    return Table(name, path, frame, f"Understood: {said}." if said else "")


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
