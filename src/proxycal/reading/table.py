"""`read_table`: a file of any kind that we read becomes a data frame, and says what was understood."""

from __future__ import annotations

import io
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from proxycal.errors import StoreError
from proxycal.files import explained, first_line
from proxycal.limits import check_file, readable
from proxycal.reading.plan import input_kind, plan_and_tables
from proxycal.reading.text import refuse_duplicates

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

# Text up to this size is kept between the look at its columns and their conversion; more is read twice.
_KEPT = 256_000_000


def read_table(path: str | os.PathLike[str], text: Sequence[str] = ()) -> pd.DataFrame:
    r"""Read a table from a CSV, TSV, Excel or Parquet file, by its ending.

    Commas, semicolons, tabs or vertical bars between columns; decimal points or commas, thousands separators
    and currency signs; UTF-8, UTF-16 or Latin-1; dates; .gz. Digits with leading zeros, such as 01003, are
    codes and stay text. Numbers that may mean two things stay text as well.

    Parameters
    ----------
    path : path
        A file that ends in .csv, .tsv, .xlsx, .parquet, .csv.gz or .tsv.gz.
    text : list of str, default ()
        Columns to keep as text, whatever they hold.

    Returns
    -------
    pandas.DataFrame
        The table; `attrs["understood"]` is what had to be understood, in one line.

    Raises
    ------
    StoreError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "losses.csv")
    ...     _ = path.write_text("fips;loss\n01003;1.234,50\n01005;90,5\n")
    ...     table = read_table(path)
    >>> table["loss"].tolist(), table["fips"].tolist()
    ([1234.5, 90.5], ['01003', '01005'])
    >>> table.attrs["understood"].split(", codes")[0]
    'semicolons, decimal commas, 2 values like 1.234,50 read as numbers (1234.5)'

    """
    path, kind = Path(path), input_kind(path)
    with explained(path, "read"):
        if path.is_dir():
            raise StoreError(f"'{path}' is a folder: name the file in it")
        check_file(path)
        with readable(path):
            frame = _read_parquet(path, text) if kind == "parquet" else _read_text(path, text)
    if frame.empty:
        raise StoreError(
            f"'{path}' has {frame.shape[1]} columns and no rows: check that it was exported completely"
        )
    return frame


def understood(frame: pd.DataFrame) -> str:
    """What `read_table` had to understand of a file; "" where there was nothing."""
    return str(frame.attrs.get("understood", ""))


def _read_text(path: Path, text: Sequence[str]) -> pd.DataFrame:
    plan, tables = plan_and_tables(path, text, _KEPT)
    pieces = [plan.frame(table) for table in tables]
    frame = pd.concat(pieces, ignore_index=True) if pieces else pd.DataFrame(columns=list(plan.columns))
    if plan.said:
        frame.attrs["understood"] = plan.said
    return frame


def _read_parquet(path: Path, text: Sequence[str]) -> pd.DataFrame:
    with parquet_explained(path):
        content = path.read_bytes()
        if not content:
            raise StoreError(f"'{path}' is empty: check that it was exported completely")
        table = pq.read_table(io.BytesIO(content))
        table.validate(full=True)
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
