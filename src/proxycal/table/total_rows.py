"""Rows that are totals of other rows: told by their label, or by numbers that are the sums of others.

Such a row counts its cases twice, and is so much larger than they are that a fit takes it for a bias.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from proxycal.errors import TableError
from proxycal.table.frames import to_pandas
from proxycal.table.surface import choose, in_file
from proxycal.table.total_words import total_label
from proxycal.table.wording import FILE_ROW, counted, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

# Numbers that agree by chance: fewer than one table in so many may have a row that looks like a sum.
_CHANCE = 1000.0
# Sums are looked for in tables of at most so many rows, as people add them up, and in so many columns.
MOST_ROWS, _MOST_COLUMNS = 100_000, 8
# The same label in more rows than this may be a category, such as a total loss: their numbers must agree.
_OFTEN, _MOST_OF = 5, 0.9
_DIGITS = 6
# A round number is as frequent as so many others.
_HEAPED = 4.0
_MOST_BLOCKS = 500
_LISTED = 10
WHY = "Totals count their rows twice, and a fit takes them for biased reports."


@dataclass(frozen=True, slots=True)
class TotalRows:
    """Rows that are totals of others.

    rows : (m,) their positions, in order. labels : the label of each, "" where only its numbers tell.
    """

    rows: NDArray[np.intp]
    labels: tuple[str, ...]

    @classmethod
    def none(cls) -> TotalRows:
        """No totals."""
        return cls(np.empty(0, dtype=np.intp), ())

    def __bool__(self) -> bool:
        return len(self.rows) > 0


def total_rows(texts: Mapping[str, Sequence[Any]], numbers: NDArray[np.float64]) -> TotalRows:
    """Find the totals in a table: its columns of text by name, and (n, k) its columns of numbers.

    >>> found = total_rows({"county": ["Lee", "Clay", "Total"]}, np.array([[3.0], [4.0], [7.0]]))
    >>> found.rows.tolist(), found.labels
    ([2], ('Total',))
    """
    n = len(numbers)
    labels, strength = _labelled(texts, n)
    summing = _sums(numbers)
    candidates = (strength > 0) | summing
    larger = _larger(numbers, candidates)
    sure = (strength == 2) & ~_category(labels, strength, larger | summing)
    found = np.flatnonzero(summing | sure | ((strength == 1) & larger))
    return TotalRows(found, tuple(labels[row] if strength[row] else "" for row in found))


def total_rows_of(frame: Any) -> TotalRows:
    """The totals among the rows of a data frame."""
    table = to_pandas(frame)
    texts: dict[str, Any] = {}
    numeric = []
    for name in table.columns:
        column = table[name]
        if pd.api.types.is_bool_dtype(column.dtype):
            continue
        if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(column.dtype):
            numeric.append(column.to_numpy(dtype=np.float64, na_value=np.nan))
        elif not pd.api.types.is_datetime64_any_dtype(column.dtype):
            texts[str(name)] = column.astype(object)
    numbers = np.column_stack(numeric) if numeric else np.empty((len(table), 0))
    return total_rows(texts, numbers)


def refuse_total_rows(frame: Any, wanted: str) -> None:
    """Raise where a table has rows that are totals of others and nobody said that they stay.

    wanted : "raise" or "keep".

    >>> table = pd.DataFrame({"county": ["Lee", "Clay", "Total"], "loss": [3.0, 4.0, 7.0]})
    >>> refuse_total_rows(table, "keep")
    >>> try:
    ...     refuse_total_rows(table, "raise")
    ... except TableError as error:
    ...     print(str(error).partition(":")[0])
    1 row is a total of other rows
    """
    found = TotalRows.none() if wanted == "keep" else total_rows_of(frame)
    if found:
        index = to_pandas(frame).index
        raise TableError(f"{named(found, index)}. {WHY} {way_out(found, index)}")


def named(found: TotalRows, index: pd.Index) -> str:
    """The totals with their rows and labels, in words."""
    in_rows = [
        f"{_row(index, row)}{f' ({shown(label)})' if label else ' (sums of other rows)'}"
        for row, label in zip(found.rows[:_LISTED], found.labels[:_LISTED], strict=True)
    ]
    more = f" and {len(found.rows) - _LISTED} more" if len(found.rows) > _LISTED else ""
    kind = "row" if _of_file(index) else "index"
    what = "is a total of other rows" if len(found.rows) == 1 else "are totals of other rows"
    return f"{counted(len(found.rows), 'row')} {what}: {kind} {', '.join(in_rows)}{more}"


def way_out(found: TotalRows, index: pd.Index) -> str:
    """What to do about totals, where the reader is."""
    if in_file():
        return way_out_of_file()
    labels = [_plain(index[row]) for row in found.rows[:_LISTED]]
    more = ", ..." if len(found.rows) > _LISTED else ""
    listed = f"[{', '.join(map(repr, labels))}{more}]"
    return (
        f"Leave them out, for instance with df.drop(index={listed}), or pass total_rows='keep' if they are "
        "no totals"
    )


def way_out_of_file() -> str:
    """What to do about totals in a file: it can be read with or without them."""
    keep = choose("total_rows", "keep")
    text = f"{choose('total_rows', 'drop')} to leave them out, or {keep} if they are no totals"
    return f"{text[0].upper()}{text[1:]}"


def _labelled(texts: Mapping[str, Sequence[Any]], n: int) -> tuple[list[str], NDArray[np.int64]]:
    """The label of each row, and how sure it is: 0 none, 1 maybe, 2 sure."""
    labels, strength = [""] * n, np.zeros(n, dtype=np.int64)
    for values in texts.values():
        # Not as a column of text, which cannot hold every text: half of a surrogate pair is none.
        texts_only = np.array([*map(_as_text, values), None], dtype=object)[:-1]
        codes, levels = pd.factorize(texts_only, use_na_sentinel=True)
        how = np.array([{"sure": 2, "maybe": 1, "": 0}[total_label(str(level))] for level in levels] + [0])
        here = how[codes]
        for row in np.flatnonzero(here > strength):
            labels[row] = str(levels[codes[row]]).strip()
        strength = np.maximum(strength, here)
    return labels, strength


def _as_text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _category(labels: list[str], strength: NDArray[np.int64], agrees: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Rows whose label is a category of many rows, such as a total loss, and whose numbers are no sums."""
    is_category = np.zeros(len(strength), dtype=bool)
    by_label: dict[str, list[int]] = {}
    for row in np.flatnonzero(strength == 2):
        by_label.setdefault(labels[row].casefold(), []).append(int(row))
    for rows in by_label.values():
        if len(rows) > _OFTEN and agrees[rows].mean() < _MOST_OF:
            is_category[rows] = True
    return is_category


def _larger(numbers: NDArray[np.float64], candidates: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which candidates are at least as large as every row of their block, in most columns of amounts.

    A block is the rows since the candidate before; for one that directly follows another, all rows above.
    """
    larger = np.zeros(len(candidates), dtype=bool)
    x = numbers[:, _amounts(numbers)]
    if not x.shape[1]:
        return larger
    start = 0
    for row in np.flatnonzero(candidates).tolist():
        block = x[start:row] if row > start else x[:row][~candidates[:row]]
        start = row + 1
        seen = np.isfinite(x[row])
        if len(block) and seen.any():
            most = np.nan_to_num(block[:, seen], nan=-np.inf).max(axis=0)
            larger[row] = bool(np.mean(x[row, seen] >= most) > 0.5)
    return larger


def _sums(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(n,) rows whose numbers are the sums of the rows right above or below, in several columns at once.

    After subtotals are taken out, the grand total is the sum of what is left.
    """
    known = np.zeros(len(numbers), dtype=bool)
    x = numbers[:, _amounts(numbers)]
    if not 3 <= len(x) <= MOST_ROWS or x.shape[1] < 2:
        return known
    step = np.array([_step(column[np.isfinite(column)]) for column in x.T])
    # That amounts are in hundreds is not held against a sum of few rows, which would often not be seen.
    values = _values(x, np.minimum(step, 1.0))
    order = np.argsort(-values, kind="stable")[:_MOST_COLUMNS]
    x, values, step = np.nan_to_num(x[:, order]), values[order], step[order]
    different = _different(x)
    x, values, step = x[:, different], values[different], step[different]
    bits, told = np.log10(np.maximum(values, x / (_HEAPED * step))), _told_before(x)
    while True:
        left = np.flatnonzero(~known)
        above, below = left, left[::-1]
        found = _sums_above(x[above], bits[above], told) | _sums_above(x[below], bits[below], told)[::-1]
        if not found.any():
            return known
        known[left[found]] = True


def _told_before(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """(k,) how much of a column the columns before it tell, as a power of ten.

    What follows from them, such as the reports of a later day, adds up whenever they do.
    """
    told = np.zeros(x.shape[1])
    for c in range(1, x.shape[1]):
        before = np.column_stack([np.ones(len(x)), x[:, :c]])
        left = x[:, c] - before @ np.linalg.lstsq(before, x[:, c], rcond=1e-9)[0]
        spread, narrow = (float(np.subtract(*np.quantile(part, [0.75, 0.25]))) for part in (x[:, c], left))
        told[c] = np.log10(max(spread, 1e-300) / max(narrow, 1e-9 * spread, 1e-300))
    return np.maximum(told, 0.0)


def _sums_above(
    x: NDArray[np.float64], bits: NDArray[np.float64], told: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """(m,) rows that are the sums of two rows or more right above them.

    bits : (m, k) how unlikely it is that a number is a given sum by chance, as a power of ten. A column that
    takes v values takes one of them in one row of v; and it is at most 1 / s likely to be the sum s, as
    larger amounts are no more frequent than smaller ones, but for round numbers. told : (k,) what of that the
    columns before say already.

    Row i is the sum of rows j to i - 1 where the sums S of the first rows have S_j = S_i - x_i. Amounts are
    not negative, so S rises and j is found by bisection; j must be the same in several columns.
    """
    m, k = x.shape
    if m < 3 or k < 2:
        return np.zeros(m, dtype=bool)
    S = np.vstack([np.zeros(k), np.cumsum(x, axis=0)])
    wanted, slack = S[:-1] - x, 1e-12 * S[:-1] + 1e-9 * x
    low, high = np.empty((m, k), dtype=np.intp), np.empty((m, k), dtype=np.intp)
    for c in range(k):
        low[:, c] = np.searchsorted(S[:, c], wanted[:, c] - slack[:, c], side="left")
        high[:, c] = np.searchsorted(S[:, c], wanted[:, c] + slack[:, c], side="right") - 1
    high = np.minimum(high, np.arange(m)[:, None] - 2)
    # A value that repeats the only one above 0 in its block adds nothing up, however many digits it has.
    above = np.vstack([np.zeros(k, dtype=np.intp), np.cumsum(x > 0.0, axis=0)])
    several = above[:-1] - np.take_along_axis(above, np.minimum(low, m), axis=0) >= 2
    possible = (low <= high) & several & (x > 0.0)
    beyond = np.maximum(bits - told, 0.0)
    return _anywhere(low, high, possible, bits, beyond) | _in_a_chain(low, high, possible, beyond)


def _anywhere(
    low: NDArray[np.intp],
    high: NDArray[np.intp],
    possible: NDArray[np.bool_],
    bits: NDArray[np.float64],
    beyond: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """(m,) sums of a block that starts anywhere: one column says where, the others agree."""
    m, k = possible.shape
    found = np.zeros(m, dtype=bool)
    for anchor in range(k):
        agree = possible & possible[:, [anchor]]
        agree &= (low <= high[:, [anchor]]) & (high[:, [anchor]] <= high)
        others = (agree * beyond).sum(axis=1) - bits[:, anchor]
        found |= agree[:, anchor] & (others >= np.log10(_CHANCE * m * k))
    return found


def _in_a_chain(
    low: NDArray[np.intp], high: NDArray[np.intp], possible: NDArray[np.bool_], bits: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """(m,) sums of all rows since the sum before, the first since the start: no column has to say where."""
    m = len(possible)
    found, start = np.zeros(m, dtype=bool), 0
    for _ in range(_MOST_BLOCKS):
        agree = possible[start:] & (low[start:] <= start) & (start <= high[start:])
        sure = (agree.sum(axis=1) >= 2) & ((agree * bits[start:]).sum(axis=1) >= np.log10(_CHANCE * m))
        if not sure.any():
            break
        start += int(np.argmax(sure)) + 1
        found[start - 1] = True
    return found


def _amounts(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Columns that can be added up: finite, never below 0, and above it somewhere."""
    if not numbers.size:
        return np.zeros(numbers.shape[1], dtype=bool)
    gone = np.isnan(numbers)
    usable = ~np.isinf(numbers).any(axis=0) & ~(numbers < 0.0).any(axis=0)
    return np.asarray(usable & (~gone & (numbers > 0.0)).any(axis=0))


def _values(x: NDArray[np.float64], step: NDArray[np.float64]) -> NDArray[np.float64]:
    """(k,) how many values a column usually takes: its middle half in units of its last digit."""
    spread = np.subtract(*np.nanquantile(x, [0.75, 0.25], axis=0))
    return np.maximum(spread / step, 1.0)


def _step(column: NDArray[np.float64]) -> float:
    """The unit of the last digit: the largest power of ten that all values are multiples of.

    >>> _step(np.array([1200.0, 300.0])), _step(np.array([0.25, 3.0]))
    (100.0, 0.01)
    """
    return next((10.0**-d for d in range(-_DIGITS, _DIGITS) if _has_digits(column, d)), 10.0**-_DIGITS)


def _has_digits(x: NDArray[np.float64], digits: int) -> bool:
    """Whether no value has more digits behind the point."""
    shifted = x * 10.0**digits
    return bool(np.allclose(shifted, np.rint(shifted), rtol=1e-12, atol=1e-7))


def _different(x: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Columns that are no multiple of one before them: these agree whenever it does."""
    keep = np.ones(x.shape[1], dtype=bool)
    scaled = x / x.max(axis=0)
    for c in range(1, x.shape[1]):
        before = (scaled[:, b] for b in range(c) if keep[b])
        keep[c] = not any(np.allclose(other, scaled[:, c], rtol=1e-6, atol=1e-9) for other in before)
    return keep


def _row(index: pd.Index, row: int) -> str:
    if index.name == FILE_ROW:
        return str(index[row])
    return str(row + 2) if _of_file(index) else repr(_plain(index[row]))


def _of_file(index: pd.Index) -> bool:
    plain = isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1
    return index.name == FILE_ROW or (in_file() and plain)


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) and not isinstance(label, np.datetime64) else label
