"""Numbers as people write them: 1,234.5 and 1.234,5, $3.50 and (40), 12 500 and 40%.

A comma or a point is a decimal sign or stands between thousands. One value often says which: "3,14" and
"1.234.567,5" have decimal commas, "1,234.5" has a decimal point. "50,015" may be either; the other values of
its column decide, then the other columns of its file, then the layout: who separates columns by semicolons
needs the comma for decimals. Where nothing decides, the column stays text.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

Decimal = Literal[".", ","]

_CURRENCY = r"(?:US|A|C|NZ|HK)?\p{Sc}|USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN|BRL|MXN|ZAR"
_FEW = 50
_SPACES = r"[ '’\x{a0}\x{202f}\x{2009}]"
_EXPONENT = r"(?:[eE][+-]?\d+)?"
_PATTERNS = {
    "whole": r"^[+-]?\d+$",
    "padded": r"^0\d+$",
    "long": r"^[+-]?\d{19,}$",
    "endless": r"^[+-]?(?i:inf(?:inity)?)$",
    "point": rf"^[+-]?(?:\d+\.\d*|\.\d+){_EXPONENT}$|^[+-]?\d+[eE][+-]?\d+$",
    "maybe_point": r"^[+-]?[1-9]\d{0,2}\.\d{3}$",
    "comma": rf"^[+-]?(?:\d+,\d*|,\d+){_EXPONENT}$",
    "maybe_comma": r"^[+-]?[1-9]\d{0,2},\d{3}$",
    "comma_groups": r"^[+-]?[1-9]\d{0,2}(?:(?:,\d{3}){2,}|(?:,\d{3})+\.\d*)$",
    "point_groups": r"^[+-]?[1-9]\d{0,2}(?:(?:\.\d{3}){2,}|(?:\.\d{3})+,\d*)$",
    "fractions": r"^[+-]?(?:\d+,)+\d*\.\d|^[+-]?(?:\d+\.)+\d*,\d",
}


_SHAPED = ("whole", "endless", "point", "comma", "comma_groups", "point_groups")


@dataclass(frozen=True, slots=True)
class NumberShapes:
    """How many values of a column are written in which shape; two such records add.

    values : that are not missing. signs : currency signs seen; percent : values with a percent sign.
    dressed : values that are no number before signs and separators are taken away. example : the first of
    them. The others are counts of values by the patterns above; fractions are groups with decimals. Where
    some value shows that the point is a decimal sign, maybe_point may be 0.
    """

    values: int = 0
    whole: int = 0
    padded: int = 0
    long: int = 0
    endless: int = 0
    point: int = 0
    maybe_point: int = 0
    comma: int = 0
    maybe_comma: int = 0
    comma_groups: int = 0
    point_groups: int = 0
    fractions: int = 0
    percent: int = 0
    dressed: int = 0
    signs: frozenset[str] = frozenset()
    example: str = ""

    def __add__(self, other: NumberShapes) -> NumberShapes:
        added: dict[str, Any] = {
            field.name: getattr(self, field.name) + getattr(other, field.name)
            for field in fields(self)
            if field.type == "int"
        }
        return NumberShapes(**added, signs=self.signs | other.signs, example=self.example or other.example)

    @property
    def shaped(self) -> int:
        """How many values are a number in some shape."""
        return self.whole + self.endless + self.point + self.comma + self.comma_groups + self.point_groups

    @property
    def numeric(self) -> bool:
        """Whether every value is a number in some shape, of one unit."""
        one_unit = len(self.signs) <= 1 and self.percent in (0, self.values)
        return self.values > 0 and self.shaped == self.values and one_unit

    @property
    def code(self) -> bool:
        """Whether these are digits but no numbers: codes such as 01003, or too long for a number."""
        return self.whole == self.values and (self.padded > 0 or self.long > 0)

    @property
    def decimal(self) -> Decimal | Literal["both"] | None:
        """The decimal sign that the values show by themselves; None where they show none."""
        comma = self.comma - self.maybe_comma + self.point_groups
        point = self.point - self.maybe_point + self.comma_groups
        if (comma and point) or (not comma and not point and self.maybe_comma and self.maybe_point):
            return "both"
        return "," if comma else "." if point else None


def shapes_of(values: pa.Array) -> NumberShapes:
    """The shapes of values that are trimmed and not missing.

    >>> shapes = shapes_of(pa.array(["$1,234.50", "50,015"]))
    >>> shapes.numeric, shapes.decimal, shapes.example
    (True, '.', '$1,234.50')
    """
    if (plain := _plain_shapes(values)) is not None:
        return plain
    # Most text shows in its first values that it is no number.
    if len(values) > _FEW and not shapes_of(values.slice(0, _FEW)).shaped:
        return NumberShapes(len(values), example=values[0].as_py())
    bare = undressed(values)
    counts: dict[str, Any] = {name: _count(bare, pattern) for name, pattern in _PATTERNS.items()}
    # A code is judged as it is written: $0100 is no code.
    counts["padded"] = _count(values, _PATTERNS["padded"])
    undecorated = "|".join(_PATTERNS[name] for name in ("whole", "point", "endless"))
    odd = values.filter(pc.invert(pc.match_substring_regex(values, undecorated)))
    found = pc.extract_regex(values, f"(?P<sign>{_CURRENCY})")
    signs = pc.unique(pc.drop_null(pc.struct_field(found, "sign"))).to_pylist()
    return NumberShapes(
        values=len(values),
        **counts,
        percent=_count(values, "%$"),
        dressed=len(odd),
        signs=frozenset(signs),
        example=odd[0].as_py() if len(odd) else "",
    )


def _plain_shapes(values: pa.Array) -> NumberShapes | None:
    """The shapes of numbers that need no understanding, which most columns hold; None for the others."""
    # A cast and a look for the point take a tenth of the time of the patterns.
    if _casts(values, pa.int64()):
        padded = pc.and_(pc.starts_with(values, "0"), pc.greater(pc.binary_length(values), 1))
        return NumberShapes(len(values), whole=len(values), padded=pc.sum(padded).as_py() or 0)
    if not _casts(values, pa.float64()):
        return None
    at = pc.find_substring(values, ".")
    pointed, others = values.filter(pc.greater_equal(at, 0)), values.filter(pc.less(at, 0))
    counts: dict[str, Any] = {
        name: _count(others, _PATTERNS[name]) for name in ("whole", "padded", "long", "endless")
    }
    if sum(counts[name] for name in ("whole", "endless")) + _count(others, _PATTERNS["point"]) < len(others):
        return None
    behind = pc.subtract(pc.binary_length(pointed), pc.find_substring(pointed, "."))
    near = pointed.filter(pc.equal(behind, len(".123")))
    maybe = _count(near, _PATTERNS["maybe_point"]) if len(near) == len(pointed) else 0
    point = len(values) - counts["whole"] - counts["endless"]
    return NumberShapes(len(values), **counts, point=point, maybe_point=maybe)


def _casts(values: pa.Array, wanted: pa.DataType) -> bool:
    try:
        pc.cast(values.slice(0, _FEW), wanted)  # a cast that fails takes longer than one that works
        pc.cast(values, wanted)
    except pa.ArrowInvalid:
        return False
    return True


def undressed(values: pa.Array) -> pa.Array:
    """Values without currency and percent signs and without spaces between thousands; (5) is -5."""
    bare = pc.replace_substring_regex(values, r"^\(\s*(.*?)\s*\)$", r"-\1")
    bare = pc.replace_substring(bare, "−", "-")
    bare = pc.replace_substring_regex(bare, rf"^([+-]?)\s*(?:{_CURRENCY})\s*([+-]?)", r"\1\2")
    bare = pc.replace_substring_regex(bare, rf"\s*(?:{_CURRENCY}|%)$", "")
    spaced = pc.match_substring_regex(bare, rf"^[+-]?\d{{1,3}}(?:{_SPACES}\d{{3}})+(?:[.,]\d+)?$")
    return pc.if_else(spaced, pc.replace_substring_regex(bare, _SPACES, ""), bare)


def decimal_of(
    shapes: NumberShapes, of_file: Decimal | None, likely: Decimal | None = None
) -> Decimal | None:
    """The decimal sign of a column of numbers; None where its values may mean two things.

    of_file : the sign that the other columns of the file show, None where they show none or both.
    likely : the sign where nothing shows one, by the layout of the file.
    """
    own = shapes.decimal
    if own == "both":
        return None
    if own is not None:
        return own
    if shapes.maybe_comma == 0:
        return of_file or "."
    if of_file is None and shapes.signs:
        return "."  # no currency is written to a thousandth: $50,015 is fifty thousand
    # Decimals that are written to a thousandth are so in all values, or the values are thousands.
    return of_file or (likely if shapes.whole == 0 else None)


def readable(values: pa.Array) -> pa.Array:
    """Which trimmed values are numbers in some shape.

    >>> readable(pa.array(["$1,234", "Total", "40%"])).to_pylist()
    [True, False, True]
    """
    shapes = "|".join(_PATTERNS[name] for name in _SHAPED)
    return pc.fill_null(pc.match_substring_regex(undressed(values), shapes), False)


def is_whole(shapes: NumberShapes, decimal: Decimal) -> bool:
    """Whether all values are whole numbers, read with this decimal sign."""
    with_decimals = shapes.comma - shapes.maybe_comma if decimal == "," else shapes.point - shapes.maybe_point
    with_decimals += shapes.maybe_comma if decimal == "," else shapes.maybe_point
    return with_decimals + shapes.fractions + shapes.endless + shapes.long == 0


def to_numbers(values: pa.Array, decimal: Decimal, whole: bool) -> pa.Array:
    """Trimmed values as int64 or float64; missing ones are null."""
    wanted = pa.int64() if whole else pa.float64()
    if decimal == ".":
        try:  # most columns need nothing else
            return pc.cast(values, wanted)
        except pa.ArrowInvalid:
            pass
    bare = undressed(values)
    bare = pc.replace_substring(bare, "," if decimal == "." else ".", "")
    if decimal == ",":
        bare = pc.replace_substring(bare, ",", ".")
    bare = pc.replace_substring_regex(bare, r"^\+", "")
    return pc.cast(bare, wanted)


def _count(values: pa.Array, pattern: str) -> int:
    return pc.sum(pc.match_substring_regex(values, pattern)).as_py() or 0
