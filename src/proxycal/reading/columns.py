"""What a column of text holds: numbers, dates, yes and no, or text; and its values as such.

A column is judged by all of its values. Those of a large table come in pieces, so what is seen in a piece
is a record that adds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from proxycal.reading.cells import MARKS
from proxycal.reading.dates import format_of, formats_of, to_dates
from proxycal.reading.numbers import (
    Decimal,
    NumberShapes,
    decimal_of,
    is_whole,
    readable,
    shapes_of,
    to_numbers,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

Kind = Literal["whole", "number", "flag", "date", "text", "code", "unclear", "name"]

# What programs write where a value is missing; those of pandas.
_MISSING = pa.array(
    [
        "",
        "#N/A",
        "#N/A N/A",
        "#NA",
        "-1.#IND",
        "-1.#QNAN",
        "-NaN",
        "-nan",
        "1.#IND",
        "1.#QNAN",
        "<NA>",
        "N/A",
        "NA",
        "NULL",
        "NaN",
        "None",
        "n/a",
        "nan",
        "null",
    ]
)
_MARKS = pa.array(sorted(MARKS))
_FLAGS = pa.array(["True", "TRUE", "true", "False", "FALSE", "false"])
_TYPES: dict[str, pa.DataType] = {
    "whole": pa.int64(),
    "number": pa.float64(),
    "flag": pa.bool_(),
    "date": pa.timestamp("us"),
}


@dataclass(frozen=True, slots=True)
class Seen:
    """What some values of a column look like; two such records add.

    gaps : missing values. flags : values that are True or False. dates : how many are dates, by format.
    marks : values that stand for a missing one if the others are numbers or dates, such as "-", with their
    counts; `numbers` and `dates` are about the others.
    """

    gaps: int = 0
    flags: int = 0
    numbers: NumberShapes = field(default_factory=NumberShapes)
    dates: dict[str, int] = field(default_factory=dict)
    marks: dict[str, int] = field(default_factory=dict)

    def __add__(self, other: Seen) -> Seen:
        return Seen(
            self.gaps + other.gaps,
            self.flags + other.flags,
            self.numbers + other.numbers,
            _counts(self.dates, other.dates),
            _counts(self.marks, other.marks),
        )


def _counts(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
    return first | {name: first.get(name, 0) + count for name, count in second.items()}


@dataclass(frozen=True, slots=True)
class Style:
    """How the values of a column are read.

    kind : "whole" and "number" are numbers, with `decimal` as their decimal sign; "flag" is True or False;
    "date" has a `format`; the others are text: "code" digits with leading zeros, "unclear" numbers or dates
    that may mean two things, "name" what was asked for as text. missing : what stands for a missing value,
    beside what programs write.
    """

    kind: Kind
    decimal: Decimal = "."
    format: str = ""
    missing: tuple[str, ...] = ()

    @property
    def type(self) -> pa.DataType:
        """The Arrow type of the column."""
        return _TYPES.get(self.kind, pa.string())


def look(values: pa.Array, missing: tuple[str, ...] = ()) -> Seen:
    """What these values look like; `missing` are further words for a missing value."""
    values = _trimmed(values)
    gone = _gone(values, missing)
    known = values.filter(pc.invert(gone))
    gaps = len(values) - len(known)
    if not len(known):
        return Seen(gaps)
    if flags := pc.sum(pc.is_in(known, _FLAGS)).as_py():
        return Seen(gaps, flags, NumberShapes(values=len(known)))
    numbers = shapes_of(known)
    if numbers.numeric:
        return Seen(gaps, 0, numbers)
    marked = pc.is_in(pc.utf8_lower(known), _MARKS)
    marks = {entry["values"]: entry["counts"] for entry in pc.value_counts(known.filter(marked)).to_pylist()}
    if marks:
        known = known.filter(pc.invert(marked))
        numbers = shapes_of(known) if len(known) else NumberShapes()
    return Seen(gaps, 0, numbers, {} if numbers.numeric or not len(known) else formats_of(known), marks)


def decimal_of_file(columns: Iterable[Seen]) -> Decimal | None:
    """The decimal sign of a file: that of all columns of numbers that show one by themselves.

    No currency is written to a thousandth: $1,004 shows that commas stand between thousands.
    """
    numeric = [seen.numbers for seen in columns if seen.numbers.numeric]
    signs = {numbers.decimal for numbers in numeric} - {None}
    signs |= {"." for numbers in numeric if numbers.decimal is None and numbers.signs and numbers.maybe_comma}
    return "," if signs == {","} else "." if signs == {"."} else None


def style_of(
    seen: Seen,
    of_file: Decimal | None,
    likely: Decimal | None = None,
    told: Decimal | None = None,
    missing: tuple[str, ...] = (),
) -> Style:
    """How a column is read, by all of its values.

    of_file, likely : as in `decimal_of`. told : the decimal sign that a person named, for values that may
    mean two numbers. missing : words for a missing value that a person named.
    """
    numbers = seen.numbers
    if numbers.values == 0:
        return Style("text" if seen.marks else "number", missing=missing)
    if seen.flags == numbers.values and not seen.marks:
        return Style("flag", missing=missing)
    gone = (*missing, *seen.marks)
    if numbers.numeric:
        if numbers.code:
            return Style("code", missing=missing)
        own = numbers.decimal
        decimal = told if told is not None and own not in (".", ",") else decimal_of(numbers, of_file, likely)
        if decimal is None:
            return Style("unclear", missing=missing)
        # As pandas does it: whole numbers with gaps among them are decimals.
        whole = is_whole(numbers, decimal) and not seen.gaps and not seen.marks
        return Style("whole" if whole else "number", decimal, missing=gone)
    if name := format_of(seen.dates, numbers.values):
        return Style("date", format=name, missing=gone)
    return Style("unclear" if numbers.values in seen.dates.values() else "text", missing=missing)


def convert(values: pa.Array, style: Style) -> pa.Array:
    """The values in the type of the style; missing ones are null."""
    bare = _trimmed(values)
    gone = _gone(bare, style.missing)
    if style.type == pa.string():
        # Text stays as it stands, blanks around it included.
        return pc.if_else(gone, pa.scalar(None, pa.string()), values)
    bare = pc.if_else(gone, pa.scalar(None, pa.string()), bare)
    if style.kind == "flag":
        return pc.equal(pc.utf8_lower(bare), "true")
    if style.kind == "date":
        return to_dates(bare, style.format)
    return to_numbers(bare, style.decimal, style.kind == "whole")


def to_series(values: pa.Array, style: Style) -> pd.Series:
    """Converted values as pandas holds them: text as str, True and False beside gaps as nullable booleans."""
    if style.kind == "name":
        return pd.Series(values.to_pandas(), dtype="string")
    if style.kind == "flag":
        return pd.Series(values.to_pandas(), dtype="boolean" if values.null_count else "bool")
    return pd.Series(values.to_pandas())


def numbers_of(values: pa.Array, style: Style) -> pa.Array:
    """The values of a column of numbers as float64, null where they are none, such as the word "Total"."""
    bare = _trimmed(values)
    is_number = pc.and_(pc.invert(_gone(bare, style.missing)), readable(bare))
    numbers = convert(pc.if_else(is_number, bare, pa.scalar(None, pa.string())), style)
    return pc.cast(numbers, pa.float64())


def _gone(trimmed: pa.Array, missing: tuple[str, ...]) -> pa.Array:
    """Which values are missing."""
    gone = pc.is_in(trimmed, _MISSING)
    if missing:
        gone = pc.or_(gone, pc.is_in(trimmed, pa.array(missing, type=pa.string())))
    return pc.fill_null(gone, True)


def _trimmed(values: pa.Array) -> pa.Array:
    return pc.utf8_trim_whitespace(values)
