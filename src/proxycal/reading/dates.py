"""Dates as people write them; where day and month may be either, the column stays text."""

from __future__ import annotations

import re

import pandas as pd
import pyarrow as pa

_ROUGH = re.compile(r"^(\d{1,4}[-/. ]|[A-Za-z]{3,9}\.? \d)")
_DAYS = {
    "year-month-day": "%Y-%m-%d",
    "year/month/day": "%Y/%m/%d",
    "day.month.year": "%d.%m.%Y",
    "day/month/year": "%d/%m/%Y",
    "month/day/year": "%m/%d/%Y",
    "day-month-year": "%d-%m-%Y",
    "month-day-year": "%m-%d-%Y",
    "day/month/short year": "%d/%m/%y",
    "month/day/short year": "%m/%d/%y",
    "day.month.short year": "%d.%m.%y",
    "day month year": "%d %b %Y",
    "day-month name-year": "%d-%b-%Y",
    "day full month year": "%d %B %Y",
    "month day, year": "%b %d, %Y",
    "full month day, year": "%B %d, %Y",
}
_TIMES = {"": "", " and time": " %H:%M:%S", " and minutes": " %H:%M"}
# Also with times, parts of a second and zones.
ISO = "ISO 8601"
FORMATS = {ISO: "ISO8601"} | {
    day + time: format + suffix for day, format in _DAYS.items() for time, suffix in _TIMES.items()
}
# The names of months are English here, whatever language the program around us has set for its own dates.
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip
_NAMED = {"%b": tuple(month[:3] for month in _MONTHS), "%B": _MONTHS}
_LONGEST = 40
_FEW = 20


def formats_of(values: pa.Array) -> dict[str, int]:
    """How many of the values, trimmed and not missing, are dates, by the format that all of them have.

    >>> formats_of(pa.array(["3.1.2024", "31.12.2024"]))
    {'day.month.year': 2}
    >>> formats_of(pa.array(["3/1/2024"]))
    {'day/month/year': 1, 'month/day/year': 1}
    """
    few = [value for value in values.slice(0, _FEW).to_pylist() if value is not None]
    if not few or not all(_ROUGH.match(value) and len(value) <= _LONGEST for value in few):
        return {}
    likely = [name for name in FORMATS if len(few) == _parsed(few, name).notna().sum()]
    if ISO in likely:
        likely = [ISO]
    every = values.to_pandas()
    counts = {name: int(_parsed(every, name).notna().sum()) for name in likely}
    return {name: count for name, count in counts.items() if count == len(values)}


def format_of(counts: dict[str, int], values: int) -> str | None:
    """The one format in which all values are dates; None where there is none or more than one."""
    whole = [name for name, count in counts.items() if count == values]
    return whole[0] if len(whole) == 1 else None


def to_dates(values: pa.Array, name: str) -> pa.Array:
    """Trimmed values as timestamps without a zone; missing ones are null."""
    return pa.array(_parsed(values.to_pandas(), name).astype("datetime64[us]"), from_pandas=True)


def _parsed(values: list[str] | pd.Series, name: str) -> pd.Series:
    series = pd.Series(values)
    if name == ISO and not series.dropna().astype(str).str.match(r"\d{4}-\d{1,2}-\d{1,2}").all():
        return pd.Series(pd.NaT, index=series.index)
    format = FORMATS[name]
    for sign in _NAMED:
        if sign in format:
            series, format = _numbered(series, _NAMED[sign]), format.replace(sign, "%m")
    parsed = pd.to_datetime(series, format=format, errors="coerce", utc=True)
    return parsed.dt.tz_localize(None)


def _numbered(series: pd.Series, months: tuple[str, ...]) -> pd.Series:
    """Text with the number of a month in place of its name; missing where it has no name."""
    numbers = {month.lower(): f"{number:02d}" for number, month in enumerate(months, start=1)}
    parts = series.astype("str").str.extract(rf"(?i)^(.*?)\b({'|'.join(months)})\b(.*)$")
    return parts[0] + parts[1].str.lower().map(numbers) + parts[2]
