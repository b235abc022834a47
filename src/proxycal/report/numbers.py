"""Numbers as text, to the precision that a reader can use."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proxycal.result import Estimate

# Significant digits of a size: at least 3, so that a whole number shows its precision (1.00), and at most 5,
# so that a very narrow interval does not print digits that no reader uses.
_FEWEST, _MOST = 3, 5
# From here on a number is said in words.
_IN_WORDS = 1e6


def number(value: float, digits: int = 4) -> str:
    """Four significant digits or as many as asked, thousands set apart, "n/a" for what does not exist.

    >>> number(1234567.0), number(0.012345), number(float("nan"))
    ('1,234,567', '0.01235', 'n/a')
    """
    if not math.isfinite(value):
        return "n/a" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    if abs(value) >= 1000:
        return f"{value:,.{max(0, digits - len(str(int(abs(value)))))}f}"
    return f"{value:.{digits}g}"


def sized(value: float) -> str:
    """Three significant digits, zeros at their end as well: 1.00 says more than 1.

    >>> sized(1.0), sized(0.31449), sized(12345.0)
    ('1.00', '0.314', '12,345')
    """
    return f"{value:#.3g}" if math.isfinite(value) and 0.0 < abs(value) < 99.5 else number(value, 3)


def amount(value: float) -> str:
    """A number that may be large: from a million on in words.

    >>> amount(1_541_165_142.0), amount(-2.5e6), amount(999.5)
    ('1.541 billion', '-2.5 million', '999.5')
    """
    unit, word = _unit(value)
    return f"{number(value / unit)}{word}"


def _unit(largest: float) -> tuple[float, str]:
    """What numbers up to this size are counted in, and its word; 1 and "" below a million."""
    for unit, word in ((1e12, " trillion"), (1e9, " billion"), (_IN_WORDS, " million")):
        if math.isfinite(largest) and abs(largest) >= unit:
            return unit, word
    return 1.0, ""


def percent(value: float) -> str:
    """A share as whole per cent, with a digit more near the ends so that 0% and 100% mean just that.

    >>> percent(0.481), percent(0.004), percent(0.99999)
    ('48%', '0.4%', '>99.9%')
    """
    if not math.isfinite(value):
        return "n/a"
    if 0 < value < 0.0005 or 0.9995 < value < 1:
        return "<0.1%" if value < 0.5 else ">99.9%"
    return f"{value:.1%}" if 0 < value < 0.01 or 0.99 < value < 1 else f"{value:.0%}"


def counted(rows: float) -> str:
    """A count of rows, which may be a sum of weights or probabilities.

    >>> counted(12.0), counted(1.0), counted(3.26)
    ('12 rows', '1 row', '3.26 rows')
    """
    return f"{number(rows, 3)} row{'' if rows == 1.0 else 's'}"


def change(value: float) -> str:
    """A change in per cent, with its sign.

    >>> change(12.345), change(float("nan"))
    ('+12.3%', 'n/a')
    """
    return f"{value:+.1f}%" if math.isfinite(value) else "n/a"


def between(low: float, high: float, digits: int = 4) -> str:
    """Both ends of an interval with the same decimals, or "n/a" where there is none; digits as in `number`.

    >>> between(4.9, 5.1), between(-1.58, -1.5068), between(float("nan"), float("nan"))
    ('4.9 to 5.1', '-1.580 to -1.507', 'n/a')
    """
    if math.isnan(low) or math.isnan(high):
        return "n/a"
    ends = number(low, digits), number(high, digits)
    if any("e" in end for end in ends):
        return " to ".join(ends)
    places = max(len(end.partition(".")[2]) for end in ends)
    return f"{_fixed(low, places)} to {_fixed(high, places)}"


class SizeText(NamedTuple):
    """A size, its standard error and its interval, each with the same decimals; "n/a" where there is none."""

    size: str
    se: str
    interval: str


def size_text(row: Estimate) -> SizeText:
    """An estimate as text: its uncertainty decides the decimals of all its numbers.

    >>> from proxycal.result import Estimate
    >>> size_text(Estimate("match", 1.2769, 0.1882, 0.9081, 1.6457))
    SizeText(size='1.28', se='0.19', interval='0.91 to 1.65')
    >>> size_text(Estimate("exact", 1.0, 0.02, 0.96, 1.04)).size
    '1.00'
    """
    places = _places(row.alpha, row.low, row.high)
    ends = "n/a" if math.isnan(row.low) or math.isnan(row.high) else None
    return SizeText(
        _fixed(row.alpha, places),
        _fixed(row.se, places),
        ends or f"{_fixed(row.low, places)} to {_fixed(row.high, places)}",
    )


class TotalText(NamedTuple):
    """What was reported, what is calibrated, and its interval, as text."""

    reported: str
    calibrated: str
    interval: str


def total_text(row: Mapping[str, float]) -> TotalText:
    """A total or mean as text, to the decimals of its interval; from a million on in words, all in one unit.

    >>> total_text({"reported": -0.4953, "calibrated": -0.0073, "low": -0.0324, "high": 0.0178})
    TotalText(reported='-0.4953', calibrated='-0.0073', interval='-0.0324 to 0.0178')
    >>> total_text({"reported": 9e8, "calibrated": 1.1e9, "low": 1.0e9, "high": 1.2e9}).interval
    '1.00 to 1.20 billion'
    """
    values = {name: row[name] for name in ("reported", "calibrated", "low", "high")}
    unit, word = _unit(max((abs(value) for value in values.values() if math.isfinite(value)), default=0.0))
    reported, calibrated, low, high = (value / unit for value in values.values())
    # As precise as the interval is, which may be far smaller than what lies around zero.
    places = _places(max(abs(low), abs(high)) if math.isfinite(low + high) else calibrated, low, high)
    known = not (math.isnan(low) or math.isnan(high))
    ends = f"{_fixed(low, places)} to {_fixed(high, places)}{word}" if known else "n/a"
    return TotalText(f"{_fixed(reported, places)}{word}", f"{_fixed(calibrated, places)}{word}", ends)


def band_text(row: Mapping[str, float]) -> tuple[str, str]:
    """Both ranges of a total under an assumption, in one unit.

    >>> band_text({"low": 10.4e6, "high": 12e6, "lowest": 10.1e6, "highest": 13.75e6})
    ('10.4 to 12.0 million', '10.1 to 13.8 million')
    """
    values = [row[name] for name in ("low", "high", "lowest", "highest")]
    unit, word = _unit(max(map(abs, values)))
    places = _places(values[1] / unit, values[0] / unit, values[1] / unit)
    low, high, lowest, highest = (_fixed(value / unit, places) for value in values)
    return f"{low} to {high}{word}", f"{lowest} to {highest}{word}"


def rows_as_reported(row: Mapping[str, float]) -> str:
    """What the row of all rows says of those without an answer; nothing where every row has one.

    >>> rows_as_reported({"as_reported_rows": 12, "as_reported": 345.6})
    '12 rows have missing values and no answer: they are in as reported, with a total of 345.6.'
    >>> rows_as_reported({"as_reported_rows": 0, "as_reported": 0.0})
    ''
    """
    rows = int(row["as_reported_rows"])
    if not rows:
        return ""
    have = "1 row has" if rows == 1 else f"{rows:,} rows have"
    whole = number(row["as_reported"])
    return f"{have} missing values and no answer: they are in as reported, with a total of {whole}."


def signed_size(row: Estimate, sign: float) -> str:
    """The size with the sign of its direction, as on the axis of a picture."""
    return ("−" if sign < 0 else "") + size_text(row).size


def _places(value: float, low: float, high: float) -> int:
    """Decimals of a size and its interval."""
    known = [abs(part) for part in (value, low, high) if math.isfinite(part)]
    largest = max(known, default=0.0)
    if largest == 0.0:
        return 2
    order = math.floor(math.log10(largest))
    half = (high - low) / 2.0
    wanted = 0
    if math.isfinite(half) and half > 0.0:
        # Two digits of an uncertainty that begins with 10 to 35, else one, as physicists round.
        leading = math.floor(math.log10(half))
        wanted = (1 if half / 10.0**leading < 3.55 else 0) - leading
    return max(0, min(max(wanted, _FEWEST - 1 - order), _MOST - 1 - order))


def _fixed(value: float, places: int) -> str:
    return f"{value:,.{places}f}" if math.isfinite(value) else number(value)
