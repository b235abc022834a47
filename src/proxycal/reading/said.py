"""What was understood of a file, in one line, so that a wrong reading is seen at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from proxycal.reading.layout import SEPARATORS
from proxycal.reading.numbers import to_numbers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proxycal.reading.columns import Seen, Style
    from proxycal.reading.layout import Layout

_FEW = 3
_LETTERS = {"cp1252": "Latin-1 letters", "latin-1": "Latin-1 letters", "utf-16": "UTF-16 letters"}


def said_of(layout: Layout | None, styles: Mapping[str, Style], seen: Mapping[str, Seen], sheet: str) -> str:
    """The line; "" for a file of commas, decimal points and nothing to understand."""
    parts = [f"the sheet '{sheet}', the first of the workbook"] if sheet else []
    if layout is not None and layout.separator != ",":
        parts.append(SEPARATORS.get(layout.separator, f"columns separated by {layout.separator!r}"))
    if layout is not None and layout.encoding in _LETTERS:
        parts.append(_LETTERS[layout.encoding])
    parts += _numbers(styles, seen)
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
