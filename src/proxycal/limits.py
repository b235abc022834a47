"""How large a table may be to be read at once: found out from the file before anything of it is in memory.

A few kilobytes of a packed file can stand for more than any memory holds. Each limit is a variable of the
environment, for the library, the shell and the app alike, and each refusal names it.

    PROXYCAL_MAX_CELLS    rows times columns that are in memory at a time
    PROXYCAL_MAX_COLUMNS  columns of a table
    PROXYCAL_MAX_BYTES    bytes of a table as text, unpacked
"""

from __future__ import annotations

import gzip
import os
import re
import stat
import zipfile
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from proxycal.errors import ProxycalError, SettingsError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

# A hundred million numbers are 0.8 GB, and about three times that while they are read.
DEFAULTS = {"CELLS": 100_000_000, "COLUMNS": 10_000, "BYTES": 2_000_000_000}
_PIECE = 2**20
# The last row that a workbook can have.
_WORKBOOK_ROWS = 1_048_576
_ROW = re.compile(rb'<row\b[^>]{0,200}?\br="(\d{1,20})"|<c\b[^>]{0,200}?\br="([A-Z]{1,6})(\d{1,20})"')


def limit(what: str) -> int:
    """The limit on "CELLS", "COLUMNS" or "BYTES".

    >>> limit("COLUMNS")
    10000
    """
    name = f"PROXYCAL_MAX_{what}"
    given = os.environ.get(name, str(DEFAULTS[what]))
    if not given.isascii() or not given.isdigit() or int(given) < 1:
        raise SettingsError(f"{name}={given!r}: use a whole number of 1 or more")
    return int(given)


def check_file(path: str | os.PathLike[str], rows_at_once: int | None = None) -> None:
    """Refuse a file that is none, and one that holds more than is read at once.

    rows_at_once : rows that are in memory at a time; all if not given. What is no table is for its reader to
    say.
    """
    path = Path(path)
    if not path.exists() or path.is_dir():
        return
    if not stat.S_ISREG(path.stat().st_mode):
        raise StoreError(
            f"'{path}' is a pipe or a device, which can be read only once: save its content as a file first"
        )
    name = path.name.lower()
    if name.endswith((".parquet", ".pq")):
        _check_parquet(path, rows_at_once)
    elif name.endswith((".xlsx", ".xlsm")):
        _check_workbook(path)
    else:
        _check_text(path, rows_at_once)


def check_shape(where: str, rows: int, columns: int) -> None:
    """Refuse more columns, or more cells at a time, than the limits."""
    if columns > limit("COLUMNS"):
        raise _too_large(where, columns, "columns", "COLUMNS", "leave out those that have no role")
    if rows * columns > limit("CELLS"):
        text = f"cells ({rows:,} rows of {columns:,} columns)"
        advice = "leave out columns, or save it as Parquet for `proxycal fit`, which reads in pieces"
        raise _too_large(where, rows * columns, text, "CELLS", advice)


@contextmanager
def readable(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn whatever a library says of a file's content into one message; out of memory is called that."""
    try:
        yield
    except MemoryError as error:
        raise out_of_memory(f"reading '{path}'") from error
    except ProxycalError as error:
        if "out of memory" in str(error.__cause__).lower():
            raise out_of_memory(f"reading '{path}'") from error
        raise
    except OSError:
        raise
    except Exception as error:
        text = (str(error).strip().splitlines() or [""])[0][:200]
        raise StoreError(
            f"'{path}' is damaged and cannot be read ({type(error).__name__}: {text}): export it again"
        ) from error


def out_of_memory(doing: str) -> StoreError:
    """What to say when there is no memory left."""
    return StoreError(
        f"out of memory while {doing}: use fewer columns, rows or --jobs, close other programs, or use a "
        "computer with more memory"
    )


def _too_large(where: str, found: int, what: str, name: str, advice: str) -> StoreError:
    return StoreError(
        f"{where} has {found:,} {what}, and at most {limit(name):,} are read at once: {advice}, or raise the "
        f"limit with the environment variable PROXYCAL_MAX_{name}={found}"
    )


def parquet_facts(path: Path) -> Any:
    """What a Parquet file says of itself, as pyarrow has it; None where it cannot: who reads it says why."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_metadata(path)
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return None


def _check_parquet(path: Path, rows_at_once: int | None) -> None:
    facts = parquet_facts(path)
    if facts is None:
        return
    rows = facts.num_rows if rows_at_once is None else min(facts.num_rows, rows_at_once)
    check_shape(f"'{path}'", rows, facts.num_columns)


def _check_text(path: Path, rows_at_once: int | None) -> None:
    """Count lines and bytes without keeping them: a tenth of the time that reading them takes."""
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    where, size, lines, columns = f"'{path}'", 0, 0, 1
    first: dict[bytes, int] | None = dict.fromkeys((b",", b";", b"\t", b"|"), 0)
    try:
        with opened(path, "rb") as content:
            while piece := content.read(_PIECE):
                size += len(piece)
                if first is not None:
                    line, ended, _ = piece.lstrip(b"\r\n").partition(b"\n")
                    first = {mark: count + line.count(mark) for mark, count in first.items()}
                    columns = 1 + max(first.values())
                    check_shape(where, 1, columns)
                    first = None if ended else first
                lines += max(piece.count(b"\n"), piece.count(b"\r"))
                if rows_at_once is not None and first is None:
                    lines = rows_at_once
                    break
                if size > limit("BYTES"):
                    raise _too_large(where, size, "bytes or more", "BYTES", "leave out columns or rows")
                if lines * columns > limit("CELLS"):
                    break
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return
    check_shape(where, lines, columns)


def _check_workbook(path: Path) -> None:
    """By the numbers of its rows and cells: a reader fills in all that are left out between them."""
    try:
        with zipfile.ZipFile(path) as packed:
            size = sum(part.file_size for part in packed.infolist())
            if size > limit("BYTES"):
                raise _too_large(f"'{path}'", size, "bytes unpacked", "BYTES", "save it as CSV or Parquet")
            for part in packed.infolist():
                if part.filename.startswith("xl/worksheets/") and part.filename.endswith(".xml"):
                    with packed.open(part) as sheet:
                        _check_sheet(path, sheet)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
        return


def _check_sheet(path: Path, sheet: IO[bytes]) -> None:
    rows = columns = 0
    tail = b""
    while piece := sheet.read(_PIECE):
        for row, letters, of_cell in _ROW.findall(tail + piece):
            rows = max(rows, int(row or of_cell))
            columns = max(columns, _number(letters))
        tail = piece[-256:]
        if rows > _WORKBOOK_ROWS:
            raise StoreError(
                f"'{path}' has a row numbered {rows:,}, and a workbook has at most {_WORKBOOK_ROWS:,}: it is "
                "damaged; save it again"
            )
    check_shape(f"'{path}'", rows, columns)


def _number(letters: bytes) -> int:
    """The number of a column: A is 1, AA is 27."""
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number
