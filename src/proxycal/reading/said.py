"""What was understood of a file, in one line, so that a wrong reading is seen at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from proxycal.reading.layout import SEPARATORS
from proxycal.reading.numbers import to_numbers
from proxycal.table.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proxycal.reading.columns import Seen, Style
    from proxycal.reading.sift import LeftOut
    from proxycal.reading.text import Form

_FEW = 3
_LETTERS = {"cp1252": "Latin-1 letters", "latin-1": "Latin-1 letters", "utf-16": "UTF-16 letters"}


def said_of(
    form: Form, styles: Mapping[str, Style], seen: Mapping[str, Seen], left_out: LeftOut, drop: bool | None
) -> str:
    """The line; "" for a file of commas, decimal points and nothing to understand."""
    layout = form.layout
    parts = _place(form)
    if layout is not None and layout.separator != ",":
        parts.append(SEPARATORS.get(layout.separator, f"columns separated by {layout.separator!r}"))
    if layout is not None and layout.encoding in _LETTERS:
        parts.append(_LETTERS[layout.encoding])
    parts += _rows(left_out, drop)
    parts += _numbers(styles, seen)
    parts += _marks(styles, seen)
    for name, style in styles.items():
        if style.kind == "date":
            parts.append(f"'{name}' read as dates ({style.format})")
    if codes := [name for name, style in styles.items() if style.kind == "code"]:
        parts.append(f"codes with leading zeros kept as text ({_listed(codes)})")
    for name, style in styles.items():
        if style.kind == "unclear":
            what = f"{seen[name].numbers.example} may mean two {'dates' if seen[name].dates else 'numbers'}"
            parts.append(f"'{name}' kept as text, since {what}")
    return ", ".join(parts)


def _place(form: Form) -> list[str]:
    """Where the table stands: its sheet, its header, what is above, below and beside it."""
    head, parts = form.head, []
    shown = [sheet for sheet in form.sheets if not sheet.hidden]
    if len(shown) > 1:
        parts.append(f"the sheet '{form.sheet}' of {len(shown)}")
    skipped = 0 if form.layout is None else form.layout.skipped
    rows = [row + skipped for row in head.rows]
    if rows != [1 + skipped]:
        parts.append(f"column names in row{'s' if len(rows) > 1 else ''} {' and '.join(map(str, rows))}")
    if head.units:
        units = [f"'{name}' in {unit}" for name, unit in list(head.units.items())[:_FEW]]
        more = f" and {len(head.units) - _FEW} more" if len(head.units) > _FEW else ""
        parts.append(f"units in row {form.first_row - 1} ({', '.join(units)}{more})")
    if head.unnamed:
        parts.append(f"{counted(len(head.unnamed), 'column')} without a name ({_listed(list(head.unnamed))})")
    if head.beside:
        parts.append(f"a second table beside it left out ({_listed(list(head.beside))})")
    return parts


def _rows(left_out: LeftOut, drop: bool | None) -> list[str]:
    """What was left out below the header, counted."""
    counts = ((left_out.blank, "blank row"), (left_out.notes, "note"), (left_out.headers, "repeated header"))
    gone = [counted(count, what) for count, what in counts if count]
    if drop and left_out.totals:
        gone.append(counted(len(left_out.totals.rows), "row with totals", "rows with totals"))
    return [f"{' and '.join(gone)} left out"] if gone else []


def _marks(styles: Mapping[str, Style], seen: Mapping[str, Seen]) -> list[str]:
    """What was read as missing beside what programs write."""
    here = {
        name: sum(seen[name].marks.values())
        for name, style in styles.items()
        if seen[name].marks and set(seen[name].marks) <= set(style.missing)
    }
    if not here:
        return []
    words = dict.fromkeys(mark for name in here for mark in seen[name].marks)
    marks = ", ".join(f"'{mark}'" for mark in list(words)[:_FEW])
    columns = [f"'{name}' {count}" for name, count in list(here.items())[:_FEW]]
    more = f" and {len(here) - _FEW} more columns" if len(here) > _FEW else ""
    return [f"{marks} read as missing ({', '.join(columns)}{more})"]


def _numbers(styles: Mapping[str, Style], seen: Mapping[str, Seen]) -> list[str]:
    """Numbers that had to be understood: how many, and what became of the first."""
    dressed = [
        name
        for name, style in styles.items()
        if style.kind in ("whole", "number") and seen[name].numbers.dressed
    ]
    if not dressed:
        return []
    commas = any(styles[name].decimal == "," and seen[name].numbers.comma for name in dressed)
    count = sum(seen[name].numbers.dressed for name in dressed)
    # The value that could most easily have been misread: one that may mean two numbers.
    first = max(dressed, key=lambda name: seen[name].numbers.maybe_comma)
    example = seen[first].numbers.example
    (number,) = to_numbers(pa.array([example]), styles[first].decimal, whole=False).to_pylist()
    words = f"{count:,} value{'' if count == 1 else 's'} like {example} read as numbers ({number:.15g})"
    return ["decimal commas", words] if commas else [words]


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return ", ".join(f"'{name}'" for name in names[:_FEW]) + more
