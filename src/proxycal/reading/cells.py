"""What a single cell looks like: a number, a year, a unit, a mark for a missing value."""

from __future__ import annotations

import re

# What people write where a value is missing; in a column of numbers it is no value, elsewhere it may be one.
MARKS = frozenset({
    "-", "--", "---", "–", "—", ".", "..", "...", "?", "/",
    "n.a.", "n.a", "na.", "n. a.", "n/a.", "n.d.", "n.d",
    "s.d.", "k.a.", "k. a.", "k.a", "keine angabe", "unbekannt", "unknown", "none", "missing",
    "not available",
    "not reported", "not known", "no data", "inconnu", "desconocido", "sconosciuto", "onbekend",
    "tbd", "x",
    "#ref!", "#div/0!", "#value!", "#name?", "#num!", "#null!", "#n/a", "#spill!", "#calc!", "nd",
    "nr", "(x)",
    "(d)", "(na)", "suppressed",
})  # fmt: skip
_CURRENCIES = "USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN|BRL|MXN|ZAR"
_SIGNS = "$€£¥₹₽₩₺₫₦₱฿¢"
_MONEY = rf"(?:(?:US|A|C|NZ|HK)?[{_SIGNS}]|{_CURRENCIES})"
_NUMBER = re.compile(
    rf"\(?\s*[+−-]?\s*{_MONEY}?\s*[+−-]?"
    r"(?:\d{1,3}(?:[ ,.'’\xa0\u202f\u2009]\d{3})+|\d+)?(?:[.,]\d*)?(?:[eE][+-]?\d+)?"
    rf"\s*(?:%|{_MONEY})?\s*\)?"
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_UNITS = frozenset({
    "usd", "eur", "gbp", "chf", "jpy", "cny", "dollars", "dollar", "euro", "euros", "pounds",
    "us$", "%", "percent",
    "per", "cent", "km", "km2", "km²", "m", "m2", "m²", "m3", "m³", "cm", "mm", "mi", "mi2", "sq",
    "sqkm", "sqmi",
    "miles", "mile", "ha", "hectare", "hectares", "acres", "acre", "kg", "g", "t", "ton", "tons",
    "tonne", "tonnes",
    "lb", "lbs", "oz", "l", "litres", "liters", "years", "year", "yr", "yrs", "months", "days",
    "day", "hours",
    "hour", "h", "min", "s", "persons", "person", "people", "cases", "count", "counts", "number",
    "no", "no.",
    "thousand", "thousands", "million", "millions", "mn", "bn", "billion", "billions", "mio",
    "mio.", "mrd",
    "tsd", "tsd.", "index", "share", "rate", "ratio", "score", "points", "°c", "°f", "c", "f",
    "kwh", "mwh", "gwh",
    "mw", "m/s", "mph", "kmh", "km/h", "in", "of", "inhabitants", "capita", "prozent", "anzahl",
    "jahre", "tage",
    "personen", "einwohner", "current", "prices", "units", "unit", "text", "code", "yyyy",
    "yyyy-mm-dd", "date",
    "proportion", "fraction", "decimal", "inches", "feet", "ft", "hpa", "mbar", "ppm", "µg", "ug",
    "mg", "dl",
})  # fmt: skip


def is_number(cell: str) -> bool:
    """Whether a cell is a number as people write them.

    >>> [is_number(cell) for cell in ("1,234.5", "($40)", "12 500 €", "40%", "-", "", "Lee", "2021")]
    [True, True, True, True, False, False, False, True]
    """
    cell = cell.strip()
    return any(sign.isdigit() for sign in cell) and _NUMBER.fullmatch(cell) is not None


def is_year(cell: str) -> bool:
    """Whether a cell may be a year.

    >>> is_year("2021"), is_year("21")
    (True, False)
    """
    return _YEAR.fullmatch(cell.strip()) is not None


def is_mark(cell: str) -> bool:
    """Whether a cell may stand for a missing value.

    >>> is_mark("k.A."), is_mark("0")
    (True, False)
    """
    return cell.strip().casefold() in MARKS


def is_unit(cell: str) -> bool:
    """Whether a cell names a unit.

    >>> [is_unit(cell) for cell in ("USD", "(km2)", "in 1,000 USD", "%", "per 100,000", "Texas", "12")]
    [True, True, True, True, True, False, False]
    """
    cell = cell.strip().casefold()
    if any(sign in cell for sign in _SIGNS) and len(cell) <= 12 and not any(sign.isdigit() for sign in cell):
        return True
    words = [word for word in re.split(r"[\s()\[\],;·*]+", cell) if word]
    units = [word in _UNITS for word in words]
    return any(units) and all(unit or word.isdigit() for unit, word in zip(units, words, strict=True))
