"""A first guess at the role of every column, from its name and its values; the person decides.

Names speak first (a column called `reported_loss` is an outcome, one called `case_id` an id). Where no name
gives the proxies away, they are the columns that move most with the outcome. No guess can know who filled a
column in, so every guess comes with its reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pandas.api import types

from proxycal.table.causes import cause_in
from proxycal.table.roles import SINGLE_ROLES

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

UNUSED = ""
REPORTED = {"report", "reported", "reports", "selfreport", "selfreported", "self", "stated", "claimed"}
REPORTED |= {"declared", "outcome"}
# German, Spanish and French: tables come in the language of the office.
REPORTED |= {"gemeldet", "gemeldete", "gemeldeter", "gemeldetes", "angegeben", "reportado", "reportada"}
REPORTED |= {"declarado", "declarada", "declare", "déclaré", "déclarée", "rapporté", "signalé"}
_AMOUNT = {"schaden", "schäden", "verlust", "verluste", "pérdida", "perdida", "pérdidas", "daño", "daños"}
_AMOUNT |= {"dommage", "dommages", "perte", "pertes"}
_AMOUNT |= {"loss", "losses", "damage", "damages", "claim", "claims", "earnings", "spending", "expenditure"}
_PROXY = {
    "proxy",
    "proxies",
    "p",
    "satellite",
    "sensor",
    "radar",
    "ndvi",
    "lights",
    "landcover",
    "built",
    "veg",
}
_PROXY |= {"baseline", "before", "earlier", "lag", "lagged", "past", "previous", "prior", "registered"}
_TRUE = {"true", "truth", "validated", "verified", "audited"}
_TRUSTED = {"trusted", "trustworthy", "unbiased"}
_ID = {"id", "ids", "uid", "uuid", "key", "caseid", "recordid", "rowid", "seqn"}
# Words of columns that name a place or a thing by a number: never a measurement, however numeric.
_CODE = {
    "fips",
    "code",
    "codes",
    "zip",
    "zipcode",
    "postcode",
    "postal",
    "plz",
    "geoid",
    "isbn",
    "phone",
    "tel",
}
_CODE |= {"ssn", "iso", "nuts", "ags", "serial"}
_DATE = {"date", "day", "time", "timestamp", "datetime", "datum", "when"}
_TEXT = {"note", "notes", "comment", "comments", "remark", "remarks", "description", "name", "title", "text"}
_WEIGHT = {"weight", "weights", "wt", "wgt", "pweight"}
# A weight of these names says how many equal rows there were.
_COUNT = {"fweight", "freq", "frequency", "multiplicity"}
_ABOUT_WEIGHTS = _WEIGHT | {"survey", "sampling", "sample", "design", "final", "person", "row", "w"}
_CLUSTER = {
    "cluster",
    "county",
    "household",
    "school",
    "clinic",
    "hospital",
    "village",
    "district",
    "psu",
    "fips",
}
_CLUSTER |= {"facility", "site"}
# As a category: more levels than this say little each. As a cluster: fewer would give no intervals.
_LEVELS = 20
_FEW_CLUSTERS = 10
# Text of which nearly every value is another identifies or describes a row; so many words make a sentence.
_NEARLY_ALL, _WORDS = 0.9, 4
# Rank correlation with the outcome: above COPY it is the outcome again, below MOVES it says too little.
_COPY, _MOVES = 0.98, 0.2
_BEST = 3
# Enough to see a correlation; a large table answers at once.
_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class Guess:
    """One column: the role it may have ("" for none) and why."""

    column: str
    role: str
    why: str


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    words: frozenset[str]
    values: pd.Series
    levels: int
    number: bool

    @property
    def continuous(self) -> bool:
        return self.number and self.levels > 2

    def called(self, words: Iterable[str]) -> str:
        """The first of the words in its name, "" if none is."""
        return next((word for word in sorted(self.words) if word in words), "")


def guess_roles(frame: pd.DataFrame) -> tuple[Guess, ...]:
    """A role for every column, in the order of the table.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"case_id": range(40), "reported_loss": range(40), "region": ["n", "s"] * 20})
    >>> [guess.role for guess in guess_roles(table)]
    ['id', 'outcome', 'environment']
    """
    columns = [_describe(frame[name], str(name)) for name in frame.columns]
    outcome = _outcome(columns)
    guesses = {column.name: _by_itself(column) for column in columns}
    if outcome is not None:
        why = outcome.called(REPORTED | {"y"} | _AMOUNT)
        reason = f"its name says '{why}'" if why else "the last column of numbers"
        guesses[outcome.name] = Guess(outcome.name, "outcome", reason)
        free = [
            column for column in columns if column.continuous and guesses[column.name].role == "environment"
        ]
        guesses |= {guess.column: guess for guess in _proxies(free, outcome)}
    for guess in _spelled_out(columns):
        if guesses[guess.column].role == "environment":
            guesses[guess.column] = guess
    return tuple(_once(columns, guesses))


def naming_columns(frame: pd.DataFrame) -> list[str]:
    """The columns by which a person finds a row again: ids, codes, names of places and groups, dates.

    >>> import pandas as pd
    >>> naming_columns(pd.DataFrame({"case_id": range(40), "loss": range(40), "region": ["n", "s"] * 20}))
    ['case_id', 'region']
    """
    columns = [_describe(frame[name], str(name)) for name in frame.columns]
    return [
        column.name
        for column in columns
        if column.levels > 0
        and not _is_free_text(column)
        and (
            not column.number
            or _is_date(column)
            or column.called(_DATE)
            or column.called(_ID | _CODE | _CLUSTER)
            or _by_itself(column).role in ("id", "cluster")
        )
    ]


def _once(columns: list[_Column], guesses: dict[str, Guess]) -> list[Guess]:
    """The guesses; a role of one column goes to the column whose name speaks for it, or to the first."""
    for role in SINGLE_ROLES:
        named = [column for column in columns if guesses[column.name].role == role]
        named.sort(key=lambda column: (not column.called(_ID), bool(column.called(_CODE))))
        for other in named[1:]:
            why = f"{named[0].name} is already the {role}"
            guesses[other.name] = Guess(other.name, UNUSED, f"{guesses[other.name].why}, and {why}")
    return [guesses[column.name] for column in columns]


def _describe(values: pd.Series, name: str) -> _Column:
    known = values.head(_ROWS).dropna()
    number = types.is_numeric_dtype(values) and not types.is_bool_dtype(values)
    return _Column(name, words_of(name), known, int(known.astype(str).nunique()), number)


def words_of(name: str) -> frozenset[str]:
    """The words and numbers in the name of a column, in small letters.

    >>> sorted(words_of("reportedLoss_2021"))
    ['2021', 'loss', 'reported']
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return frozenset(re.findall(r"[^\W\d_]+|\d+", spaced.lower()))


def _outcome(columns: list[_Column]) -> _Column | None:
    """What was reported: by its name, else the last column of numbers, as tables are often laid out."""
    able = [column for column in columns if column.continuous and _by_itself(column).role == "environment"]
    for words in (REPORTED | {"y"}, _AMOUNT):
        named = [column for column in able if column.called(words) and not column.called(_PROXY)]
        if named:
            return named[0]
    return able[-1] if able else None


def _by_itself(column: _Column) -> Guess:
    """The role that a column would have, whatever the others are."""
    name, rows = column.name, len(column.values)
    unique = column.levels == rows and rows > 1
    if column.levels <= 1:
        return Guess(name, UNUSED, "the same in every row" if rows else "empty")
    if _is_date(column):
        return Guess(name, UNUSED, "a date: convert it to a number or a season to use it")
    if _is_free_text(column):
        return Guess(name, UNUSED, "free text")
    whole = not column.number or bool((column.values % 1 == 0).all())
    if unique and (column.called(_ID | _CODE) or not column.number) and whole:
        return Guess(name, "id", "differs in every row")
    if column.number and column.called(_COUNT) and whole and column.values.min() >= 1:
        return Guess(name, "counts", "its name says so, and all are whole numbers of at least 1")
    if (
        column.number
        and column.called(_WEIGHT)
        and column.words <= _ABOUT_WEIGHTS
        and column.values.min() > 0
    ):
        return Guess(name, "weights", "its name says so, and all are above 0")
    if column.continuous and column.called(_TRUE):
        return Guess(name, "truth", f"its name says '{column.called(_TRUE)}'")
    if column.called(_TRUSTED) and set(column.values.unique()) <= {0, 1}:
        return Guess(name, "trusted", f"its name says '{column.called(_TRUSTED)}', and all are true or false")
    if column.called(_CLUSTER) and whole and _FEW_CLUSTERS <= column.levels < rows:
        return Guess(name, "cluster", f"rows share a {column.called(_CLUSTER)}")
    return _by_values(column, whole)


def _by_values(column: _Column, whole: bool) -> Guess:
    """Codes and text of many values, which have no role; what is left may be environment."""
    name, rows = column.name, len(column.values)
    if column.called(_ID | _CODE) and whole and column.levels > 2:
        return Guess(name, UNUSED, f"'{column.called(_ID | _CODE)}' in its name: a code, not a measurement")
    if not column.number and column.levels > max(_NEARLY_ALL * rows, _LEVELS):
        return Guess(name, UNUSED, f"nearly every row has a different value ({column.levels} in {rows})")
    if not column.number and column.levels > _LEVELS:
        return Guess(name, UNUSED, f"text with {column.levels} different values")
    return Guess(name, "environment", "may drive both the content and the bias")


def _is_date(column: _Column) -> bool:
    """A date, or one that is written as a number: 20240131."""
    if types.is_datetime64_any_dtype(column.values):
        return True
    if not column.number or not column.called(_DATE):
        return False
    low, high = float(column.values.min()), float(column.values.max())
    return low >= 19_000_101 and high <= 21_001_231 and bool((column.values % 1 == 0).all())


def _is_free_text(column: _Column) -> bool:
    """Sentences: several words in most values, which hardly repeat."""
    if column.number:
        return False
    some = column.values.head(_ROWS // 20).astype(str)
    wordy = some.map(lambda value: len(value.split()) >= _WORDS)
    repeats = column.levels <= _NEARLY_ALL * len(column.values)
    return bool(wordy.mean() > 0.5) and (not repeats or bool(column.called(_TEXT)))


def _proxies(free: list[_Column], outcome: _Column) -> list[Guess]:
    """Proxies among the columns that are free, and those that repeat the outcome."""
    moves = {
        column.name: _rank_correlation(column.values, outcome.values)
        for column in free
        if column is not outcome
    }
    unused, left = [], []
    for column in (column for column in free if column is not outcome):
        if column.called(REPORTED):
            unused.append(Guess(column.name, UNUSED, "also reported: it may have the same bias"))
        elif abs(moves[column.name]) > _COPY or _another_form(column, outcome):
            unused.append(Guess(column.name, UNUSED, f"nearly a copy of {outcome.name}"))
        elif cause := cause_in(column.words, outcome.words):
            why = f"'{cause}' in its name: it may decide who reports and how, so it is no proxy"
            unused.append(Guess(column.name, "environment", why))
        else:
            left.append(column)
    named = [column for column in left if column.called(_PROXY)]
    if named:
        return unused + [
            Guess(
                column.name,
                "proxies",
                f"its name says '{column.called(_PROXY)}', another measurement than the report",
            )
            for column in named
        ]
    siblings = [column for column in left if _another_time(column, outcome)]
    if siblings:
        why = f"the same as {outcome.name} at another time, by its name"
        return unused + [Guess(column.name, "proxies", why) for column in siblings]
    best = sorted(left, key=lambda column: -abs(moves[column.name]))[:_BEST]
    return unused + [
        Guess(
            column.name,
            "proxies",
            f"correlated with {outcome.name} (rank correlation {moves[column.name]:.2f}): check that it "
            "measures the same thing and never saw the report",
        )
        for column in best
        if abs(moves[column.name]) >= _MOVES
    ]


def _rank_correlation(first: pd.Series, second: pd.Series) -> float:
    both = first.index.intersection(second.index)
    correlation = float(first[both].astype(float).rank().corr(second[both].astype(float).rank()))
    return 0.0 if correlation != correlation else correlation  # NaN: one of the two does not vary there


def _stem_and_digits(column: _Column) -> tuple[set[str], set[str]]:
    digits = {word for word in column.words if word.isdigit()}
    return {word for word in column.words - digits if word not in ("log", "ln", "sqrt")}, digits


def _another_time(column: _Column, outcome: _Column) -> bool:
    """re74 beside re78: the same word with another number."""
    (stem, digits), (same, others) = _stem_and_digits(column), _stem_and_digits(outcome)
    return bool(digits and others) and digits != others and stem == same


def _another_form(column: _Column, outcome: _Column) -> bool:
    """re78 beside log_re78: the same words, but for the name of a transformation."""
    return _stem_and_digits(column) == _stem_and_digits(outcome) and column.words != outcome.words


def _spelled_out(columns: list[_Column]) -> list[Guess]:
    """Categories whose levels stand beside them as columns of their own: race beside black and hispan."""
    flags = {column.name.casefold() for column in columns if column.levels == 2}
    guess = Guess("", UNUSED, "its levels are separate columns")
    return [
        replace(guess, column=column.name)
        for column in columns
        if not column.number
        and column.levels <= _LEVELS
        and flags & {str(level).casefold() for level in column.values.unique()} - {column.name.casefold()}
    ]
