"""Files: the one way in which anything is written, and tables in and out.

Every write goes to a temporary name in the same folder and is renamed when it is complete, so that a full
disk or a kill leaves the earlier file as it was.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import shutil
import warnings
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from proxycal.errors import StoreError
from proxycal.limits import check_file, readable
from proxycal.locks import temporary_file
from proxycal.safe_csv import safe_frame

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Literal

# Reading back exactly what was written is the default from pandas 3.1 on, which warns when it is asked for.
_PRECISION: Literal["round_trip"] | None = (
    "round_trip" if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1) else None
)


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside `path`; rename it to `path` when the block ends without an error.

    A link is followed, and a file that is overwritten keeps its permissions.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, atomic_file(Path(folder, "a.txt")) as temporary:
    ...     _ = temporary.write_text("whole or not at all")
    """
    given, path = Path(path), Path(os.path.realpath(path))
    with explained(given, "written"):
        # Renaming over a device, a pipe or a folder would replace it instead of writing to it.
        if path.exists() and not path.is_file():
            raise StoreError(f"'{path}' is not an ordinary file: choose another name for the output")
        if not path.parent.is_dir():
            raise StoreError(
                f"'{path}' cannot be written: the folder '{path.parent}' does not exist; create it first"
            )
        # The ending stays last, since writers choose compression by it.
        ending = "".join(path.suffixes[-2:]) if path.suffix.lower() == ".gz" else path.suffix
        with temporary_file(path.parent, ending) as temporary:
            yield temporary
            if path.exists():
                shutil.copymode(path, temporary)
            sync(temporary)
            os.replace(temporary, path)
            sync(path.parent)


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file, whole or not at all."""
    with atomic_file(path) as temporary:
        temporary.write_bytes(content)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file, whole or not at all; its lines end as they do in the text."""
    write_bytes(path, text.encode())


def write_table(frame: Any, path: str | os.PathLike[str], safe: bool = False) -> None:
    """Write a pandas or polars frame as CSV or Parquet, by the ending of `path`.

    A pandas index is written as columns, unless it is the plain numbering of the rows.
    safe : whether text of a CSV that a spreadsheet would run as a formula gets an apostrophe before it.
    """
    path, kind = Path(path), kind_of(path)
    table = nw.from_native(frame, eager_only=True).to_pandas()
    if not (isinstance(table.index, pd.RangeIndex) and table.index.name is None):
        table = table.reset_index()
    if safe and kind == "csv":
        table = safe_frame(table)
    with atomic_file(path) as temporary:
        try:
            if kind == "csv":
                table.to_csv(temporary, index=False, lineterminator="\n")
            else:
                table.to_parquet(temporary, index=False)
        except (pa.ArrowException, UnicodeEncodeError) as error:
            advice = "write a .csv instead" if kind == "parquet" else "clean the text of that column"
            raise StoreError(f"'{path}' cannot be written: {first_line(error)}; {advice}") from error


def read_table(path: str | os.PathLike[str], text: Sequence[str] = ()) -> pd.DataFrame:
    """Read a CSV (also .csv.gz) or Parquet file, by its ending.

    text : columns to keep as text, so that an identifier such as "01001" keeps its zero.
    """
    path, kind = Path(path), kind_of(path)
    with explained(path, "read"):
        if path.is_dir():
            raise StoreError(f"'{path}' is a folder: name the CSV or Parquet file in it")
        check_file(path)
        with readable(path):
            frame = _read_csv(path, text) if kind == "csv" else _read_parquet(path, text)
    if frame.empty:
        raise StoreError(
            f"'{path}' has {frame.shape[1]} columns and no rows: check that it was exported completely"
        )
    return frame


def kind_of(path: str | os.PathLike[str]) -> str:
    """Whether a name is that of a "csv" or of a "parquet" file, by its ending."""
    name = Path(path).name.lower()
    if name.endswith((".csv", ".csv.gz")):
        return "csv"
    if name.endswith((".parquet", ".pq")):
        return "parquet"
    raise StoreError(
        f"'{path}' must end in .csv, .csv.gz or .parquet: the ending says how it is read or written"
    )


def csv_options(text: Sequence[str]) -> dict[str, Any]:
    """How every CSV is read, whole or in pieces; `text` as in `read_table`."""
    return {
        "encoding": "utf-8-sig",
        "index_col": False,
        "low_memory": False,
        "float_precision": _PRECISION,
        "dtype": dict.fromkeys(text, "string"),
    }


def _read_csv(path: Path, text: Sequence[str]) -> pd.DataFrame:
    with csv_explained(path):
        check_header(path)
        return pd.DataFrame(pd.read_csv(path, **csv_options(text)))


@contextmanager
def csv_explained(path: Path) -> Iterator[None]:
    """Turn what can be wrong with a CSV into one message that names the path."""
    try:
        with warnings.catch_warnings():
            # pandas drops the surplus fields of long rows and only warns: that is lost data.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            yield
    except UnicodeDecodeError as error:
        raise StoreError(
            f"'{path}' is not UTF-8 text (byte {error.start} is 0x{error.object[error.start]:02x}): "
            "save it again as 'CSV UTF-8'"
        ) from error
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


def check_header(path: Path) -> None:
    """Refuse duplicate names, which pandas would silently rename, and other separators than the comma."""
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8-sig", newline="") as lines:
        header: list[str] = next((row for row in csv.reader(lines) if row), [])
    refuse_duplicates(path, header)
    if len(header) == 1 and any(mark in header[0] for mark in ";\t|"):
        raise StoreError(
            f"'{path}' separates its columns by something other than commas: save it with commas"
        )


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


def _read_parquet(path: Path, text: Sequence[str]) -> pd.DataFrame:
    with parquet_explained(path):
        content = path.read_bytes()
        if not content:
            raise StoreError(f"'{path}' is empty: check that it was exported completely")
        table = pq.read_table(io.BytesIO(content))
        refuse_duplicates(path, table.column_names)
        frame = table.to_pandas()
        if set(frame.index.names) & set(table.column_names):
            # pandas keeps one of the columns as labels of the rows: it may have a role.
            frame = frame.reset_index()
    return frame.astype({name: "string" for name in text if name in frame})


@contextmanager
def parquet_explained(path: Path) -> Iterator[None]:
    """Turn what can be wrong with a Parquet file into one message that names the path."""
    try:
        yield
    except (pa.ArrowException, NotImplementedError) as error:
        raise StoreError(
            f"'{path}' is not a readable Parquet file ({first_line(error)}): export it again"
        ) from error


@contextmanager
def explained(path: Path, verb: str) -> Iterator[None]:
    """Turn what the operating system says into one message that names the path."""
    try:
        yield
    except FileNotFoundError as error:
        raise StoreError(
            f"'{path}' cannot be {verb}: there is no such file; check the spelling and the folder"
        ) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreError(
            f"'{path}' cannot be {verb}: {reason}; "
            "check the permissions and the free space, or choose another place"
        ) from error


def sync(path: Path) -> None:
    """Ask the disk to keep `path` (a file, or the names in a folder) before the next step relies on it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def first_line(error: BaseException) -> str:
    """What a library said, without its further lines."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
