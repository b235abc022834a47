"""Rows of a file that are no rows of its table: blank ones, notes below, headers said again, totals.

Such rows are few and odd. While a file is read, odd rows are set aside; when its end is known, it is decided
what they are, and the others go back to the table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from proxycal.reading.columns import numbers_of
from proxycal.reading.numbers import readable
from proxycal.table.total_rows import MOST_ROWS, TotalRows, total_rows
from proxycal.table.total_words import LIKELY, total_label

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from proxycal.reading.columns import Seen, Style

_BLANK = r"^\s*$"
# A note below a table: so many words, or one of these at its beginning.
_WORDS = 4
_NOTE = re.compile(
    r"(?i)\s*(?:[*†‡¹²³§¶©\[]|\(?\d{1,2}\)|sources?\b|notes?\b|quelle|anmerkung|fuente|nota\b|stand\b|as of)"
)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Rows below the head that are not read, by their position there.

    rows : (m,) all of them, in order. blank : with rows below them. notes, headers : how many. totals : those
    found; they are in `rows` where they are left out.
    """

    rows: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    blank: int = 0
    notes: int = 0
    headers: int = 0
    totals: TotalRows = field(default_factory=TotalRows.none)


def odd_rows(table: pa.Table, seen: Mapping[str, Seen]) -> NDArray[np.bool_]:
    """(n,) rows that may be no rows of the table: of one value or none, a total by its label, a header.

    seen : what the columns look like, since a column of numbers holds no label.
    """
    n, names = table.num_rows, table.column_names
    odd = np.zeros(n, dtype=bool)
    held = np.zeros(n, dtype=np.int64)
    for name in names[:2]:
        held += _held(table.column(name))
    sparse = np.flatnonzero(held < min(2, len(names)))
    if len(sparse):
        few = table.take(sparse)
        held = np.sum([_held(few.column(name)) for name in names], axis=0)
        odd[sparse] = held < (2 if len(names) > 2 else 1)
    first = pc.equal(table.column(names[0]), names[0])
    odd |= _mask(first)
    for name in names:
        column = table.column(name)
        if not seen[name].numbers.numeric and not seen[name].flags:
            likely = np.flatnonzero(_mask(pc.match_substring_regex(column, LIKELY)))
            labels = column.take(likely).to_pylist()
            odd[[row for row, label in zip(likely, labels, strict=True) if total_label(label)]] = True
    return odd


@dataclass(frozen=True, slots=True)
class Odd:
    """The rows set aside: their positions below the head (m,), and what they hold."""

    rows: NDArray[np.intp]
    table: pa.Table | None

    @classmethod
    def of(cls, found: Iterable[tuple[NDArray[np.intp], pa.Table]]) -> Odd:
        """One record of what was set aside piece by piece."""
        pieces = list(found)
        if not pieces:
            return cls(np.empty(0, dtype=np.intp), None)
        return cls(
            np.concatenate([rows for rows, _ in pieces]), pa.concat_tables([table for _, table in pieces])
        )


def decide(
    odd: Odd, rows: int, styles: Mapping[str, Style], held: pa.Table | None, drop: bool | None
) -> LeftOut:
    """What the odd rows are.

    rows : below the head. styles : of the columns, by the rows that are not odd. held : all rows, where they
    are few enough to be added up. drop : whether totals are left out; None where nobody said.
    """
    blank, notes, headers = _kinds(odd, rows, styles)
    out = blank | notes | headers
    keep = drop is False
    total = TotalRows.none() if keep else _totals(odd, ~out, rows, styles, held, odd.rows[out])
    last = _last(odd, rows, out)
    gone = np.sort(odd.rows[out])
    if drop:
        gone = np.union1d(gone, total.rows)
    inside = int((odd.rows[blank] < last).sum())
    return LeftOut(gone, inside, int(notes.sum()), int(headers.sum()), total)


def _kinds(
    odd: Odd, rows: int, styles: Mapping[str, Style]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Which odd rows are blank, notes below the table, and headers said again."""
    m = len(odd.rows)
    blank, notes, headers = (np.zeros(m, dtype=bool) for _ in range(3))
    if odd.table is None:
        return blank, notes, headers
    names = odd.table.column_names
    cells = [[cell.strip() for cell in odd.table.column(name).to_pylist()] for name in names]
    for k in range(m):
        row = [column[k] for column in cells]
        blank[k] = not any(row)
        said = [(cell, name) for cell, name in zip(row, names, strict=True) if cell]
        headers[k] = len(said) > 1 and all(cell == name for cell, name in said)
    # Notes stand below the last row of the table; nothing but notes and blank rows follows them.
    at = rows
    for k in range(m - 1, -1, -1):
        if odd.rows[k] != at - 1:
            break
        row = [column[k] for column in cells]
        if not blank[k] and not _is_note(row, names, styles):
            break
        notes[k], at = not blank[k], odd.rows[k]
    return blank, notes, headers


def _is_note(row: list[str], names: list[str], styles: Mapping[str, Style]) -> bool:
    """Whether a row of one value is a note: text among numbers, some words, or how notes begin."""
    held = [(name, cell) for name, cell in zip(names, row, strict=True) if cell]
    if len(held) != 1 or len(names) < 3:
        return False
    ((name, cell),) = held
    if bool(pc.any(readable(pa.array([cell]))).as_py()):
        return False
    among_numbers = styles[name].kind in ("whole", "number", "code", "date")
    return among_numbers or len(cell.split()) >= _WORDS or _NOTE.match(cell) is not None


def _last(odd: Odd, rows: int, out: NDArray[np.bool_]) -> int:
    """The last row that is read."""
    gone = set(odd.rows[out].tolist())
    return next((row for row in range(rows - 1, -1, -1) if row not in gone), -1)


def _totals(
    odd: Odd,
    left: NDArray[np.bool_],
    rows: int,
    styles: Mapping[str, Style],
    held: pa.Table | None,
    out: NDArray[np.intp],
) -> TotalRows:
    """The totals among the rows that are left, by labels and, of a table that is held, by sums."""
    texts: dict[str, list[str | None]] = {}
    whole = held is not None and rows <= MOST_ROWS
    at = np.setdiff1d(np.arange(rows), out) if whole else odd.rows[left]
    place = {int(row): k for k, row in enumerate(at)}
    if odd.table is not None:
        for name in odd.table.column_names:
            labels: list[str | None] = [None] * len(at)
            for row, use, cell in zip(odd.rows, left, odd.table.column(name).to_pylist(), strict=True):
                if use:
                    labels[place[int(row)]] = cell
            texts[name] = labels
    numbers = np.empty((len(at), 0))
    if whole and held is not None:
        table = held.take(at)
        columns = [
            numbers_of(table.column(name).combine_chunks(), style).to_numpy(zero_copy_only=False)
            for name, style in styles.items()
            if style.kind in ("whole", "number")
        ]
        numbers = np.column_stack(columns) if columns else numbers
    found = total_rows(texts, numbers)
    return TotalRows(at[found.rows], found.labels)


def _held(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Which cells hold something, as 0 and 1."""
    return (~_mask(pc.match_substring_regex(column, _BLANK))).astype(np.int64)


def _mask(found: pa.ChunkedArray) -> NDArray[np.bool_]:
    return np.asarray(pc.fill_null(found, False).to_numpy(zero_copy_only=False), dtype=bool)
