"""How a file is read, found out once from all of its values; then it is read whole or in pieces alike.

file -> tables of text (text.py) -> what each column looks like (columns.py) -> plan -> values
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pandas as pd
import pyarrow as pa

from proxycal.errors import StoreError
from proxycal.reading.columns import Seen, Style, convert, decimal_of_file, look, style_of, to_series
from proxycal.reading.said import said_of
from proxycal.reading.text import text_layout, text_tables
from proxycal.reading.workbook import sheet_name

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from proxycal.reading.layout import Layout

# Rows of text in memory at a time.
ROWS = 65_536
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

    layout : None for a workbook. styles : of the columns, by name, in their order. rows : that it holds.
    said : what was understood, in one line; "" where there was nothing to understand. seen : what the values
    of each column look like.
    """

    path: str
    layout: Layout | None
    styles: dict[str, Style]
    rows: int
    said: str = ""
    seen: dict[str, Seen] = field(default_factory=dict)

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
        return text_tables(Path(self.path), self.layout, rows)

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


def plan_of(path: str | os.PathLike[str], text: Sequence[str] = ()) -> Plan:
    """Look at all values of a text table or a workbook; text : columns to keep as text."""
    plan, _ = plan_and_tables(path, text, keep=0)
    return plan


def plan_and_tables(
    path: str | os.PathLike[str], text: Sequence[str], keep: int
) -> tuple[Plan, Iterable[pa.Table]]:
    """The plan, and the table as strings: those that were read where they have at most `keep` bytes."""
    place, kind = Path(path), input_kind(path)
    layout = text_layout(place) if kind == "text" else None
    seen: dict[str, Seen] = {}
    held: list[pa.Table] | None = []
    rows = 0
    for table in text_tables(place, layout, ROWS):
        rows += table.num_rows
        for name in table.column_names:
            found = look(table.column(name).combine_chunks())
            seen[name] = seen[name] + found if name in seen else found
        if held is not None:
            held = [*held, table]
            if sum(one.nbytes for one in held) > keep:
                held = None
    if not seen:
        seen = {name: Seen() for name in _header(place, layout)}
    # Cells of a workbook that are numbers have no decimal sign, so they say nothing of those that are text.
    of_file = decimal_of_file(seen.values()) if layout is not None else None
    shown = {found.numbers.decimal for found in seen.values() if found.numbers.numeric} - {None}
    likely = "," if layout is not None and layout.separator == ";" and not shown else None
    styles = {
        name: Style("name") if name in text else style_of(found, of_file, likely)  # type: ignore[arg-type]
        for name, found in seen.items()
    }
    sheet = sheet_name(place) if layout is None else ""
    plan = Plan(str(place), layout, styles, rows, said_of(layout, styles, seen, sheet), seen)
    return plan, plan.text() if held is None else held


def _header(path: Path, layout: Layout | None) -> list[str]:
    """The names of a table without rows."""
    if layout is None:
        from proxycal.reading.workbook import sheet_rows

        return next(sheet_rows(path), [])
    return list(
        pd.read_csv(path, sep=layout.separator, encoding=layout.encoding, skiprows=layout.skipped).columns
    )
