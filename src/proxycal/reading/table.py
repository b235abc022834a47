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
from proxycal.reading.options import Reading, asked
from proxycal.reading.plan import input_kind, plan_and_tables, refuse_totals
from proxycal.reading.text import refuse_duplicates
from proxycal.table.total_rows import MOST_ROWS, total_rows_of
from proxycal.table.wording import FILE_ROW, counted

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

# Text up to this size is kept between the look at its columns and their conversion; more is read twice.
_KEPT = 256_000_000


def read_table(
    path: str | os.PathLike[str],
    text: Sequence[str] = (),
    *,
    sheet: str | int | None = None,
    header_row: int | None = None,
    thousands: str | None = None,
    decimal: str | None = None,
    missing_values: str | Sequence[str] = (),
    total_rows: str | None = None,
) -> pd.DataFrame:
    r"""Read a table from a CSV, TSV, Excel or Parquet file, by its ending.

    Commas, semicolons, tabs or vertical bars between columns; decimal points or commas, thousands separators
    and currency signs; UTF-8, UTF-16 or Latin-1; dates; .gz. Digits with leading zeros, such as 01003, are
    codes and stay text. Numbers that may mean two things stay text as well. Titles above the header, units
    below it, blank rows and notes below the table are left out; the header may take two rows. In a workbook
    the sheet with most numbers is read. In a column of numbers "-", "n.a.", "unknown" and the like are
    missing. Totals among the rows are refused until you say what they are.

    Parameters
    ----------
    path : path
        A file that ends in .csv, .tsv, .xlsx, .parquet, .csv.gz or .tsv.gz.
    text : list of str, default ()
        Columns to keep as text, whatever they hold.
    sheet : str or int, default None
        Name or number (from 1) of the sheet of a workbook; None for the one that holds most numbers.
    header_row : int, default None
        Row of the file, from 1, with the column names; None to find it.
    thousands, decimal : str, default None
        The signs between thousands and before decimals, where the numbers do not show them.
    missing_values : str or list of str, default ()
        Further words for a missing value, in every column.
    total_rows : {"keep", "drop"}, default None
        What to do with rows that are totals of other rows; None refuses a table that has such rows.

    Returns
    -------
    pandas.DataFrame
        The table; `attrs["understood"]` is what had to be understood, in one line. Where rows of the file
        are left out, the index holds the row of the file of each row.

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
    words = (missing_values,) if isinstance(missing_values, str) else tuple(missing_values)
    said = Reading(None if sheet is None else str(sheet), header_row, thousands, decimal, words, total_rows)
    reading = asked() if said == Reading() else said
    with explained(path, "read"):
        if path.is_dir():
            raise StoreError(f"'{path}' is a folder: name the file in it")
        check_file(path)
        with readable(path):
            frame = _read(path, kind, text, reading)
    if frame.empty:
        raise StoreError(
            f"'{path}' has {frame.shape[1]} columns and no rows: check that it was exported completely"
        )
    return frame


def understood(frame: pd.DataFrame) -> str:
    """What `read_table` had to understand of a file; "" where there was nothing."""
    return str(frame.attrs.get("understood", ""))


def _read(path: Path, kind: str, text: Sequence[str], reading: Reading) -> pd.DataFrame:
    if kind == "parquet":
        return _settled(path, _read_parquet(path, text), reading)
    plan, tables = plan_and_tables(path, text, _KEPT, reading)
    refuse_totals(plan)
    pieces = [plan.frame(table) for table in tables]
    frame = pd.concat(pieces, ignore_index=True) if pieces else pd.DataFrame(columns=list(plan.columns))
    if plan.said:
        frame.attrs["understood"] = plan.said
    if plan.rows_of_file is not None:
        frame.index = pd.Index(plan.rows_of_file, name=FILE_ROW)
    return frame


def _settled(path: Path, frame: pd.DataFrame, reading: Reading) -> pd.DataFrame:
    """A Parquet table, without its totals where they are to be dropped; a fit refuses the others."""
    if reading.total_rows != "drop" or len(frame) > MOST_ROWS:
        return frame
    found = total_rows_of(frame)
    if not found:
        return frame
    kept = frame.drop(index=frame.index[found.rows])
    kept.attrs["understood"] = f"{counted(len(found.rows), 'row')} with totals left out"
    return kept


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
