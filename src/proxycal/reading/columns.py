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

from proxycal.reading.dates import format_of, formats_of, to_dates
from proxycal.reading.numbers import Decimal, NumberShapes, decimal_of, is_whole, shapes_of, to_numbers

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
    """

    gaps: int = 0
    flags: int = 0
    numbers: NumberShapes = field(default_factory=NumberShapes)
    dates: dict[str, int] = field(default_factory=dict)

    def __add__(self, other: Seen) -> Seen:
        dates = {name: self.dates.get(name, 0) + count for name, count in other.dates.items()}
        return Seen(
            self.gaps + other.gaps, self.flags + other.flags, self.numbers + other.numbers, self.dates | dates
        )


@dataclass(frozen=True, slots=True)
class Style:
    """How the values of a column are read.

    kind : "whole" and "number" are numbers, with `decimal` as their decimal sign; "flag" is True or False;
    "date" has a `format`; the others are text: "code" digits with leading zeros, "unclear" numbers or dates
    that may mean two things, "name" what was asked for as text.
    """

    kind: Kind
    decimal: Decimal = "."
    format: str = ""

    @property
    def type(self) -> pa.DataType:
        """The Arrow type of the column."""
        return _TYPES.get(self.kind, pa.string())


def look(values: pa.Array) -> Seen:
    """What these values look like."""
    values = _trimmed(values)
    gone = pc.is_in(values, _MISSING)
    known = values.filter(pc.invert(gone))
    gaps = len(values) - len(known)
    if not len(known):
        return Seen(gaps)
    if flags := pc.sum(pc.is_in(known, _FLAGS)).as_py():
        return Seen(gaps, flags, NumberShapes(values=len(known)))
    numbers = shapes_of(known)
    return Seen(gaps, 0, numbers, {} if numbers.numeric else formats_of(known))


def decimal_of_file(columns: Iterable[Seen]) -> Decimal | None:
    """The decimal sign of a file: that of all columns of numbers that show one by themselves."""
    signs = {seen.numbers.decimal for seen in columns if seen.numbers.numeric} - {None}
    return "," if signs == {","} else "." if signs == {"."} else None


def style_of(seen: Seen, of_file: Decimal | None, likely: Decimal | None = None) -> Style:
    """How a column is read, by all of its values; of_file, likely : as in `decimal_of`."""
    numbers = seen.numbers
    if numbers.values == 0:
        return Style("number")
    if seen.flags == numbers.values:
        return Style("flag")
    if numbers.numeric:
        if numbers.code:
            return Style("code")
        decimal = decimal_of(numbers, of_file, likely)
        if decimal is None:
            return Style("unclear")
        # As pandas does it: whole numbers with gaps among them are decimals.
        return Style("whole" if is_whole(numbers, decimal) and not seen.gaps else "number", decimal)
    if name := format_of(seen.dates, numbers.values):
        return Style("date", format=name)
    return Style("unclear" if numbers.values in seen.dates.values() else "text")


def convert(values: pa.Array, style: Style) -> pa.Array:
    """The values in the type of the style; missing ones are null."""
    bare = _trimmed(values)
    gone = pc.is_in(bare, _MISSING)
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


def _trimmed(values: pa.Array) -> pa.Array:
    return pc.utf8_trim_whitespace(values)
