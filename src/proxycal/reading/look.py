"""What was understood of a file before anybody knows the roles: its place, its rows, and every column."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import pandas as pd
from pandas.api import types

from proxycal.reading.options import asked
from proxycal.reading.plan import plan_of
from proxycal.reading.said import said_of
from proxycal.reading.table import read_table
from proxycal.table.guess import guess_roles
from proxycal.table.total_rows import named, total_rows_of
from proxycal.table.wording import FILE_ROW

if TYPE_CHECKING:
    import os

    from proxycal.reading.options import Reading
    from proxycal.reading.plan import Plan
    from proxycal.reading.workbook import Sheet
    from proxycal.table.guess import Guess

_KINDS = {
    "whole": "whole numbers",
    "number": "numbers",
    "flag": "true or false",
    "date": "dates",
    "code": "codes",
    "unclear": "unclear",
}


@dataclass(frozen=True, slots=True)
class LookedColumn:
    """One column: what it holds, from where to where or how many different values, gaps, a value, its role.

    role : that it may have, "" for none; why : the reason. unit : from the row of units, or the file's signs.
    """

    name: str
    kind: str
    span: str
    missing: int
    example: str
    unit: str
    role: str
    why: str


@dataclass(frozen=True, slots=True)
class Looked:
    """A file as it is understood.

    rows, columns : of the table, totals left out unless they were to be kept. understood : in one line.
    totals : of which nobody said what they are, in words, "" for none. sheet : that is read. sheets : of a
    workbook. preview : first rows.
    """

    path: str
    rows: int
    columns: tuple[LookedColumn, ...]
    understood: str
    totals: str
    sheet: str
    sheets: tuple[Sheet, ...]
    preview: tuple[tuple[str, ...], ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def look_file(path: str | os.PathLike[str], reading: Reading | None = None) -> Looked:
    r"""Look at a file that nobody has said anything of, or what `reading` says.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder, "t.csv")
    ...     _ = place.write_text("Losses\ncounty,loss\nLee,$5\nClay,$7\nTotal,$12\n")
    ...     found = look_file(place)
    >>> found.rows, [column.kind for column in found.columns], found.totals
    (2, ['text', 'whole numbers'], "1 row is a total of other rows: row 5 ('Total')")
    """
    reading = asked() if reading is None else reading
    settled = reading if reading.total_rows is not None else replace(reading, total_rows="drop")
    options = asdict(settled)
    frame = read_table(path, **options)
    plan = None if str(path).lower().endswith((".parquet", ".pq")) else plan_of(path, (), settled)
    totals = "" if reading.total_rows is not None else _totals(path, plan)
    guesses = {guess.column: guess for guess in guess_roles(frame)}
    columns = tuple(_column(frame[name], str(name), plan, guesses[str(name)]) for name in frame.columns)
    form = None if plan is None else plan.form
    drop = None if reading.total_rows is None else reading.total_rows == "drop"
    said = "" if plan is None else said_of(plan.form, plan.styles, plan.seen, plan.left_out, drop)
    preview = tuple(tuple(map(_text, row)) for row in frame.head(3).astype(object).to_numpy())
    return Looked(
        str(path),
        len(frame),
        columns,
        said,
        totals,
        "" if form is None else form.sheet,
        () if form is None else form.sheets,
        preview,
    )


def _totals(path: str | os.PathLike[str], plan: Plan | None) -> str:
    """The totals in words, "" where there are none."""
    if plan is None:
        frame = pd.read_parquet(path)
        found, index = total_rows_of(frame), frame.index
    else:
        found = plan.left_out.totals
        first = plan.form.first_row
        last = int(found.rows.max()) if found else 0
        index = pd.Index(range(first, first + last + 1), name=FILE_ROW)
    return named(found, index) if found else ""


def _column(values: pd.Series, name: str, plan: Plan | None, guess: Guess) -> LookedColumn:
    known = values.dropna()
    kind = _kind(values, None if plan is None else plan.styles[name].kind)
    unit = ""
    if plan is not None:
        shapes = plan.seen[name].numbers
        signs = "%" if shapes.percent else "".join(sorted(shapes.signs))
        unit = plan.form.head.units.get(name, signs if shapes.numeric else "")
    return LookedColumn(
        name=name,
        kind=kind,
        span=_span(known, kind),
        missing=int(values.isna().sum()),
        example=_text(known.iloc[0]) if len(known) else "",
        unit=unit,
        role=guess.role,
        why=guess.why,
    )


def _kind(values: pd.Series, style: str | None) -> str:
    if style in _KINDS:
        return _KINDS[style]
    if types.is_bool_dtype(values):
        return _KINDS["flag"]
    if types.is_integer_dtype(values):
        return _KINDS["whole"]
    if types.is_numeric_dtype(values):
        return _KINDS["number"]
    return _KINDS["date"] if types.is_datetime64_any_dtype(values) else "text"


def _span(known: pd.Series, kind: str) -> str:
    """From the least to the largest number or date; of text, how many different values."""
    if not len(known):
        return "empty"
    if kind in ("whole numbers", "numbers", "dates"):
        return f"{_text(known.min())} to {_text(known.max())}"
    levels = known.astype(str).nunique()
    return f"{levels:,} different"


def _text(value: Any) -> str:
    """A value on one short line."""
    if isinstance(value, float):
        text = f"{value:,.6g}" if abs(value) < 1e15 else f"{value:.6g}"
    elif isinstance(value, int):
        text = f"{value:,}" if abs(value) >= 10_000 else str(value)
    else:
        text = "" if value is None or value is pd.NaT else " ".join(str(value).split())
        text = text.removesuffix(" 00:00:00")
    return "" if text == "nan" else text if len(text) <= 24 else text[:23] + "…"
