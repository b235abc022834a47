"""How a file is read, found out once from all of its values; then it is read whole or in pieces alike.

file -> tables of text (text.py) -> what each column looks like (columns.py) -> plan -> values
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
import pyarrow as pa

from proxycal.errors import StoreError
from proxycal.reading.columns import Seen, Style, convert, decimal_of_file, look, style_of, to_series
from proxycal.reading.options import asked
from proxycal.reading.said import said_of
from proxycal.reading.sift import LeftOut, Odd, decide, odd_rows
from proxycal.reading.text import Form, form_of, text_tables
from proxycal.table.total_rows import MOST_ROWS, WHY, named, way_out_of_file
from proxycal.table.wording import FILE_ROW

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from proxycal.reading.layout import Layout
    from proxycal.reading.numbers import Decimal
    from proxycal.reading.options import Reading

# Rows of text in memory at a time.
ROWS = 65_536
# Text up to this size is kept while a file is looked at.
_HELD = 256_000_000
ENDINGS = {
    ".csv": "text",
    ".csv.gz": "text",
    ".tsv": "text",
    ".tsv.gz": "text",
    ".xlsx": "workbook",
    ".parquet": "parquet",
    ".pq": "parquet",
}


@dataclass(frozen=True, slots=True)
class Plan:
    """How a text table or a workbook is read.

    form : how the file holds its table. styles : of the columns, by name, in their order. rows : that it
    holds. said : what was understood, in one line; "" where there was nothing to understand. seen : what the
    values of each column look like. left_out : rows below the head that are not read.
    """

    path: str
    form: Form
    styles: dict[str, Style]
    rows: int
    said: str = ""
    seen: dict[str, Seen] = field(default_factory=dict)
    left_out: LeftOut = field(default_factory=LeftOut)

    @property
    def layout(self) -> Layout | None:
        """The layout of a text file, None for a workbook."""
        return self.form.layout

    @property
    def rows_of_file(self) -> np.ndarray | None:
        """(rows,) the row of the file of each row, None where these follow each other from the second."""
        gone = self.left_out.rows
        at = np.setdiff1d(np.arange(self.rows + len(gone)), gone) + self.form.first_row
        return None if np.array_equal(at, np.arange(self.rows) + 2) else at

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.styles)

    @property
    def decimal(self) -> str:
        """The decimal sign of the file: a comma where its numbers have commas and none a point."""
        used = [style.decimal for style in self.styles.values() if style.kind == "number"]
        return "," if used and set(used) == {","} else "."

    def text(self, rows: int = ROWS) -> Iterator[pa.Table]:
        """The table as strings, each as it stands in the file."""
        return without(text_tables(Path(self.path), self.form, rows), self.left_out.rows)

    def table(self, text: pa.Table) -> pa.Table:
        """A piece of the table in its types."""
        columns = [
            convert(text.column(name).combine_chunks(), self.styles[name]) for name in text.column_names
        ]
        types = [(name, self.styles[name].type) for name in text.column_names]
        return pa.table(columns, schema=pa.schema(types))

    def frame(self, text: pa.Table) -> pd.DataFrame:
        """A piece of the table as pandas holds it."""
        columns = {
            name: to_series(convert(text.column(name).combine_chunks(), self.styles[name]), self.styles[name])
            for name in text.column_names
        }
        return pd.DataFrame(columns)


def input_kind(path: str | os.PathLike[str]) -> Literal["text", "workbook", "parquet"]:
    """How a file of this name is read, by its ending.

    >>> input_kind("losses.tsv"), input_kind("Losses.XLSX")
    ('text', 'workbook')
    """
    name = Path(path).name.lower()
    for ending, kind in ENDINGS.items():
        if name.endswith(ending):
            return kind  # type: ignore[return-value]
    old = " (open an .xls file in Excel and save it as .xlsx)" if name.endswith(".xls") else ""
    raise StoreError(
        f"'{path}' must end in .csv, .tsv, .xlsx or .parquet, or in .csv.gz or .tsv.gz: the ending says how "
        f"it is read{old}"
    )


def plan_of(path: str | os.PathLike[str], text: Sequence[str] = (), reading: Reading | None = None) -> Plan:
    """Look at all values of a text table or a workbook; text : columns to keep as text.

    reading : what a person said of the file; None for what is asked of all tables now. Totals of which nobody
    said anything are in `left_out`, and in the table: `refuse_totals` refuses such a plan.
    """
    plan, _ = plan_and_tables(path, text, keep=0, reading=reading)
    return plan


def plan_and_tables(
    path: str | os.PathLike[str], text: Sequence[str], keep: int, reading: Reading | None = None
) -> tuple[Plan, Iterable[pa.Table]]:
    """The plan, and the table as strings: those that were read where they have at most `keep` bytes."""
    reading = asked() if reading is None else reading
    place = Path(path)
    form = form_of(place, input_kind(path), reading)
    looked = _look(place, form, reading)

    def styles_of(seen: dict[str, Seen]) -> dict[str, Style]:
        return _styles(seen, form, text, reading)

    drop = None if reading.total_rows is None else reading.total_rows == "drop"
    whole = pa.concat_tables(looked.small) if looked.small else None
    left_out = decide(looked.odd, looked.rows, styles_of(looked.seen), whole, drop)
    seen = _with_odd(looked, left_out, reading)
    styles = styles_of(seen)
    plan = Plan(str(place), form, styles, looked.rows - len(left_out.rows), "", seen, left_out)
    plan = replace(plan, said=said_of(form, styles, seen, left_out, drop))
    if looked.held is None or sum(one.nbytes for one in looked.held) > keep:
        return plan, plan.text()
    return plan, without(iter(looked.held), left_out.rows)


def refuse_totals(plan: Plan) -> None:
    """Raise where rows are totals of others, nobody said what to do with them, and they are in the table."""
    totals = plan.left_out.totals
    if totals and not set(totals.rows.tolist()) <= set(plan.left_out.rows.tolist()):
        index = pd.Index(
            np.arange(plan.form.first_row, plan.form.first_row + totals.rows.max() + 1), name=FILE_ROW
        )
        raise StoreError(f"'{plan.path}': {named(totals, index)}. {WHY} {way_out_of_file()}")


def without(tables: Iterable[pa.Table], rows: np.ndarray) -> Iterator[pa.Table]:
    """The tables without some of their rows, counted from the first of all."""
    start = 0
    for table in tables:
        here = rows[(rows >= start) & (rows < start + table.num_rows)] - start
        start += table.num_rows
        if len(here):
            keep = np.ones(table.num_rows, dtype=bool)
            keep[here] = False
            table = table.filter(pa.array(keep))
        if table.num_rows:
            yield table


@dataclass(frozen=True, slots=True)
class _Looked:
    """One pass over a file: what its columns look like without the odd rows, and these.

    held : all of it, None where it is large. small : the same while its rows can be added up.
    """

    rows: int
    seen: dict[str, Seen]
    odd: Odd
    held: list[pa.Table] | None
    small: list[pa.Table]


def _look(path: Path, form: Form, reading: Reading) -> _Looked:
    seen: dict[str, Seen] = {name: Seen() for name in form.head.names}
    held: list[pa.Table] | None = []
    small: list[pa.Table] = []
    odd: list[tuple[np.ndarray, pa.Table]] = []
    rows = 0
    for table in text_tables(path, form, ROWS):
        found = _seen(table, reading)
        strange = np.flatnonzero(odd_rows(table, found))
        if len(strange):
            odd.append((strange + rows, table.take(strange)))
            plain = np.ones(table.num_rows, dtype=bool)
            plain[strange] = False
            found = _seen(table.filter(pa.array(plain)), reading)
        seen = {name: seen[name] + found[name] for name in seen}
        rows += table.num_rows
        if held is not None:
            held = [*held, table] if sum(one.nbytes for one in held) <= _HELD else None
        small = [*small, table] if rows <= MOST_ROWS else []
    return _Looked(rows, seen, Odd.of(odd), held, small)


def _seen(table: pa.Table, reading: Reading) -> dict[str, Seen]:
    return {
        name: look(table.column(name).combine_chunks(), reading.missing_values) for name in table.column_names
    }


def _with_odd(looked: _Looked, left_out: LeftOut, reading: Reading) -> dict[str, Seen]:
    """What the columns look like with those odd rows that are rows of the table after all."""
    if looked.odd.table is None:
        return looked.seen
    back = ~np.isin(looked.odd.rows, left_out.rows)
    if not back.any():
        return looked.seen
    added = _seen(looked.odd.table.filter(pa.array(back)), reading)
    return {name: looked.seen[name] + added[name] for name in looked.seen}


def _styles(seen: dict[str, Seen], form: Form, text: Sequence[str], reading: Reading) -> dict[str, Style]:
    # Cells of a workbook that are numbers have no decimal sign, so they say nothing of those that are text.
    of_file = decimal_of_file(
        found for found in seen.values() if form.layout is not None or found.numbers.dressed
    )
    shown = {found.numbers.decimal for found in seen.values() if found.numbers.numeric} - {None}
    likely: Decimal | None = (
        "," if form.layout is not None and form.layout.separator == ";" and not shown else None
    )
    missing = reading.missing_values
    return {
        name: Style("name", missing=missing)
        if name in text
        else style_of(found, of_file, likely, reading.sign, missing)
        for name, found in seen.items()
    }
