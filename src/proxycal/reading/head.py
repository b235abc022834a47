"""Where a table begins: titles above it, the row of names, a row of groups above that, a row of units below.

Whoever keeps a table for people puts a title on top, merges the cells of a group of columns, and writes the
units below the names. A table whose first row names all of its columns is taken as it stands.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median_low, mode
from typing import TYPE_CHECKING

from proxycal.reading.cells import is_mark, is_number, is_unit, is_year

if TYPE_CHECKING:
    from collections.abc import Sequence

    Row = Sequence[str]

# Rows that are looked at; a header further down has to be named.
SAMPLE, _DEEPEST = 2000, 60
_LETTERS = 60
BETWEEN = " / "


@dataclass(frozen=True, slots=True)
class Head:
    """Where the columns of a table stand, and where its rows begin.

    names : of the columns. places : the position of each in a row of the file, from 0. first : how many rows
    of the file come before the first row of data. rows : those that hold the names, from 1. above : rows with
    titles and notes above them. units : by column. unnamed : columns that got a name from us. beside : names
    of a second table to the side, which is left out. regular : whether the first row names all columns.
    """

    names: tuple[str, ...]
    places: tuple[int, ...]
    first: int
    rows: tuple[int, ...] = (1,)
    above: int = 0
    units: dict[str, str] = field(default_factory=dict)
    unnamed: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    regular: bool = True


def head_of(records: Sequence[Row], header_row: int | None = None) -> Head | None:
    """Find the head of a table in its first rows; None where no row can be one.

    >>> rows = [["Losses by county"], [], ["", "2021", ""], ["county", "loss", "area"], ["Lee", "12", "3.5"]]
    >>> head = head_of(rows)
    >>> head.names, head.first, head.above
    (('county', '2021 / loss', '2021 / area'), 4, 1)
    """
    filled = [[place for place, cell in enumerate(row) if cell.strip()] for row in records]
    some = [i for i, places in enumerate(filled) if places]
    if not some:
        return None
    if header_row is not None:
        return _head(records, filled, header_row - 1) if header_row <= len(records) else None
    if _regular(filled, some):
        head = _plain(records, some[0])
        unit_row = next((i for i in some if i > some[0]), None)
        return head if unit_row is None else _with_units(records, filled, head, unit_row)
    at = _header(records, filled, some)
    return None if at is None else _head(records, filled, at)


def _regular(filled: Sequence[list[int]], some: Sequence[int]) -> bool:
    """Whether the first row that holds anything has a name for each column."""
    first, later = filled[some[0]], [filled[i][-1] for i in some[1:]]
    unbroken = first == list(range(len(first)))
    return unbroken and (not later or first[-1] >= mode(later))


def _plain(records: Sequence[Row], at: int) -> Head:
    names = list(records[at])
    while names and not names[-1].strip():
        names.pop()
    return Head(tuple(names), tuple(range(len(names))), at + 1, (at + 1,))


def _usual(filled: Sequence[list[int]], some: Sequence[int]) -> int:
    """How many cells of a row usually hold something, titles and notes left aside."""
    counts = [len(filled[i]) for i in some]
    wide = [count for count in counts if count > 1]
    return median_low(wide) if wide else 1


def _header(records: Sequence[Row], filled: Sequence[list[int]], some: Sequence[int]) -> int | None:
    """The row of names: the last wide one above the first row of data."""
    enough = max(2, (_usual(filled, some) + 1) // 2) if _usual(filled, some) > 1 else 1
    wide = [i for i in some[:_DEEPEST] if len(filled[i]) >= enough]
    first = next((i for i in wide if _is_data(records, filled, i, some)), None)
    if first is None:
        return wide[0] if wide else None
    above = [i for i in wide if i < first]
    while len(above) > 1 and _is_units(records[above[-1]], filled[above[-1]]):
        above.pop()
    if not above:  # fewer names than values: who reads it says so
        return next((i for i in reversed(some) if i < first and not _is_data(records, filled, i, some)), None)
    return above[-1]


def _is_data(records: Sequence[Row], filled: Sequence[list[int]], i: int, some: Sequence[int]) -> bool:
    """Whether a row holds numbers where rows below it do; years side by side are names of columns."""
    numbers = {place for place in filled[i] if is_number(records[i][place])}
    below = [j for j in some if j > i][:3]
    if not numbers or not below:
        return bool(numbers)
    shared = [{place for place in numbers & set(filled[j]) if is_number(records[j][place])} for j in below]
    years = [records[i][place] for place in sorted(numbers)]
    if len(years) > 1 and all(map(is_year, years)) and len(set(years)) == len(years):
        under = [records[j][place] for j in below for place in numbers if place < len(records[j])]
        return all(is_year(cell) for cell in under if is_number(cell))
    return any(shared)


def _is_units(row: Row, places: Sequence[int]) -> bool:
    """Whether a row holds units and nothing else."""
    cells = [row[place] for place in places]
    units = sum(is_unit(cell) for cell in cells)
    return units > 0 and all(is_unit(cell) or is_mark(cell) for cell in cells)


def _head(records: Sequence[Row], filled: Sequence[list[int]], at: int) -> Head | None:
    """The head whose names stand in row `at`, with a row of groups above it where there is one."""
    if not filled[at]:
        return None
    names, rows = _joined(records, filled, at)
    width = max(len(names), *(len(row) for row in records[at:]))
    names += [""] * (width - len(names))
    below = [i for i in range(at + 1, len(records)) if filled[i]]
    held = [sum(place in filled[i] for i in below) for place in range(width)]
    kept, beside = _one_table(names, filled, below, held)
    above = sum(bool(places) for places in filled[: rows[0] - 1])
    called = {place: names[place] or f"column {place + 1}" for place in kept}
    head = Head(
        tuple(called.values()),
        tuple(called),
        at + 1,
        rows,
        above,
        unnamed=tuple(called[place] for place in kept if not names[place]),
        beside=beside,
        regular=False,
    )
    return _with_units(records, filled, head, below[0]) if below else head


def _joined(
    records: Sequence[Row], filled: Sequence[list[int]], at: int
) -> tuple[list[str], tuple[int, ...]]:
    """The names in row `at`, each with that of its group in the row above; and the rows that hold them."""
    lower = [" ".join(cell.split()) for cell in records[at]]
    if at == 0 or not filled[at - 1] or not _is_groups(records, filled, at):
        return lower, (at + 1,)
    upper = [" ".join(cell.split()) for cell in records[at - 1]]
    names, group, spans = [], "", False
    for place in range(max(len(lower), len(upper))):
        below = lower[place] if place < len(lower) else ""
        own = upper[place] if place < len(upper) else ""
        if own:
            group, spans = own, bool(below)
        over = own or (group if spans and below else "")
        names.append(BETWEEN.join(part for part in (over, below) if part))
    return names, (at, at + 1)


def _is_groups(records: Sequence[Row], filled: Sequence[list[int]], at: int) -> bool:
    """Whether the row above the names holds groups of columns: short, and no title in the first cell."""
    places, row = filled[at - 1], records[at - 1]
    if any(len(row[place]) > _LETTERS for place in places):
        return False
    lone_title = len(places) == 1 and places[0] == filled[at][0]
    return not lone_title and all(is_year(row[place]) or not is_number(row[place]) for place in places)


def _one_table(
    names: Sequence[str], filled: Sequence[list[int]], below: Sequence[int], held: Sequence[int]
) -> tuple[list[int], tuple[str, ...]]:
    """The columns of one table: of two side by side, which share names or end in other rows, the fuller."""
    blocks: list[list[int]] = [[]]
    for place, name in enumerate(names):
        if name or held[place]:
            blocks[-1].append(place)
        elif blocks[-1]:
            blocks.append([])
    blocks = [block for block in blocks if block]
    wide = [block for block in blocks if len(block) > 1]
    if len(wide) < 2:
        return [place for block in blocks for place in block], ()
    ends = {max((i for i in below if set(block) & set(filled[i])), default=0) for block in wide}
    called = [{names[place].casefold() for place in block if names[place]} for block in wide]
    shared = any(one & other for k, one in enumerate(called) for other in called[k + 1 :])
    if not shared and len(ends) == 1:
        return [place for block in blocks for place in block], ()
    best = max(wide, key=lambda block: sum(held[place] for place in block))
    return best, tuple(names[place] for block in wide if block is not best for place in block)


def _with_units(records: Sequence[Row], filled: Sequence[list[int]], head: Head, at: int) -> Head:
    """The head with the row of units below it, where there is one."""
    own = [place for place in head.places if place in filled[at]]
    numbers = any(
        is_number(row[place]) for row in records[at + 1 : at + 6] for place in own if place < len(row)
    )
    if at != head.first or not numbers or not _is_units(records[at], own):
        return head
    units = {
        name: records[at][place].strip().strip("()[]")
        for name, place in zip(head.names, head.places, strict=True)
        if place in own and is_unit(records[at][place])
    }
    return Head(
        head.names, head.places, at + 1, head.rows, head.above, units, head.unnamed, head.beside, head.regular
    )
