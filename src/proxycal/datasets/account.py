"""The account of a source: what became of every row, in an order that can be added up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened to some rows of a source.

    rows : how many it happened to. change : by how much it changed the number of rows, 0 for a repair
    what : what happened, in words. examples : the first few names it happened to
    """

    source: str
    rows: int
    change: int
    what: str
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        named = f" ({', '.join(self.examples)})" if self.examples else ""
        return f"{self.source}: {self.rows:,} rows {self.what}{named}"


@dataclass(frozen=True, slots=True)
class Source:
    """A table made from a user's files, and the account of how.

    table : pandas frame. account : entries whose changes add up to the rows of the table
    """

    table: pd.DataFrame
    account: tuple[Entry, ...]


def read_rows(source: str, rows: int, what: str) -> Entry:
    """The opening entry: rows that a file held."""
    return Entry(source, rows, rows, what)


def left_out(source: str, names: Iterable[object], what: str) -> list[Entry]:
    """An entry for rows that were left out, one name each; none where there are no such rows.

    >>> [str(entry) for entry in left_out("losses", ["72001", "72001"], "left out: no such county")]
    ['losses: 2 rows left out: no such county (72001 x2)']
    """
    named = list(names)
    return [Entry(source, len(named), -len(named), what, most_common(named))] if named else []


def summed(source: str, before: int, after: int, what: str) -> list[Entry]:
    """An entry for rows that went into the sum of another row."""
    return [Entry(source, before - after, after - before, what)] if before != after else []


def repaired(source: str, names: Iterable[object], what: str) -> list[Entry]:
    """An entry for rows that stay, changed as named."""
    named = list(names)
    return [Entry(source, len(named), 0, what, most_common(named))] if named else []


def most_common(names: Sequence[object], shown: int = 4) -> tuple[str, ...]:
    """The most frequent names with their counts, and how many other names there are.

    >>> most_common(["hail", "wind", "hail"], shown=1)
    ('hail x2', '1 other')
    """
    counts = pd.Series([str(name) for name in names], dtype=object).value_counts(sort=True)
    # Equal counts in the order of their names, so that the account does not depend on the order of rows.
    ordered = sorted(counts.items(), key=lambda pair: (-int(pair[1]), str(pair[0])))
    first = tuple(f"{name} x{count}" if count > 1 else f"{name}" for name, count in ordered[:shown])
    more = len(ordered) - shown
    return (*first, f"{more} other{'s' if more > 1 else ''}") if more > 0 else first


def balance(account: Sequence[Entry], source: str) -> int:
    """The rows that a source should have left by its account.

    >>> balance([read_rows("a", 10, "read"), *left_out("a", ["x"], "left out")], "a")
    9
    """
    return sum(entry.change for entry in account if entry.source == source)


def lines(account: Sequence[Entry]) -> str:
    """The account as plain text, an entry per line."""
    return "\n".join(f"- {entry}" for entry in account)


def frame(account: Sequence[Entry]) -> pd.DataFrame:
    """The account as a table."""
    return pd.DataFrame(
        [(one.source, one.rows, one.change, one.what, "; ".join(one.examples)) for one in account],
        columns=["source", "rows", "change", "what", "examples"],
    )
