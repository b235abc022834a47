"""Files: the one way in which anything is written, tables among it.

Every write goes to a temporary name in the same folder and is renamed when it is complete, so that a full
disk or a kill leaves the earlier file as it was.
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa

from proxycal.errors import StoreError
from proxycal.locks import temporary_file
from proxycal.safe_csv import safe_frame

if TYPE_CHECKING:
    from collections.abc import Iterator


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
    """Write a pandas or polars frame as CSV, TSV or Parquet, by the ending of `path`.

    A pandas index is written as columns, unless it is the plain numbering of the rows.
    safe : whether text of a CSV that a spreadsheet would run as a formula gets an apostrophe before it.
    """
    # Loaded here: it takes a twentieth of a second, and much is written that is no table.
    import narwhals as nw

    path, kind = Path(path), kind_of(path)
    table = nw.from_native(frame, eager_only=True).to_pandas()
    if not (isinstance(table.index, pd.RangeIndex) and table.index.name is None):
        table = table.reset_index()
    if safe and kind == "csv":
        table = safe_frame(table)
    with atomic_file(path) as temporary:
        try:
            if kind == "csv":
                table.to_csv(temporary, index=False, sep=separator_of(path), lineterminator="\n")
            else:
                table.to_parquet(temporary, index=False)
        except (pa.ArrowException, UnicodeEncodeError) as error:
            advice = "write a .csv instead" if kind == "parquet" else "clean the text of that column"
            raise StoreError(f"'{path}' cannot be written: {first_line(error)}; {advice}") from error


def kind_of(path: str | os.PathLike[str]) -> str:
    """Whether a table of this name is written as "csv" (text) or as "parquet", by its ending."""
    name = Path(path).name.lower()
    if name.endswith((".csv", ".csv.gz", ".tsv", ".tsv.gz")):
        return "csv"
    if name.endswith((".parquet", ".pq")):
        return "parquet"
    raise StoreError(
        f"'{path}' must end in .csv, .tsv or .parquet, or in .csv.gz or .tsv.gz: the ending says how it is "
        "written"
    )


def separator_of(path: str | os.PathLike[str], otherwise: str = ",") -> str:
    """What separates the columns of a text table that is written: tabs in a .tsv."""
    return "\t" if Path(path).name.lower().endswith((".tsv", ".tsv.gz")) else otherwise


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
