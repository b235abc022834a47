"""What a person says about how a file is to be read; whatever is not said is found out from the file."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from proxycal.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proxycal.reading.numbers import Decimal

Totals = Literal["keep", "drop"]


@dataclass(frozen=True, slots=True)
class Reading:
    """How a file is to be read.

    sheet : of a workbook, by name or number. header_row : the row of the file that holds the column names.
    thousands, decimal : signs in numbers. missing_values : what stands for a missing value in every column,
    beside what programs write. total_rows : whether rows that are totals of others are rows like them.
    """

    sheet: str | None = None
    header_row: int | None = None
    thousands: str | None = None
    decimal: str | None = None
    missing_values: tuple[str, ...] = ()
    total_rows: str | None = None

    def __post_init__(self) -> None:
        if self.header_row is not None and self.header_row < 1:
            raise SettingsError(f"header_row = {self.header_row} must be a row of the file: the first is 1")
        if self.decimal not in (None, ".", ","):
            raise SettingsError(f"decimal = {self.decimal!r} is not known: use '.' or ','")
        if self.thousands not in (None, ".", ",", " ", "'", "’", "\xa0", "\u202f"):
            raise SettingsError(f"thousands = {self.thousands!r} is not known: use ',', '.', ' ' or \"'\"")
        if self.thousands is not None and self.thousands == self.decimal:
            raise SettingsError(f"thousands and decimal are both {self.decimal!r}: one must be another sign")
        if self.total_rows not in (None, "keep", "drop"):
            raise SettingsError(f"total_rows = {self.total_rows!r} is not known: use 'keep' or 'drop'")

    @property
    def sign(self) -> Decimal | None:
        """The decimal sign, where that was said in one way or the other.

        >>> Reading(thousands=",").sign, Reading(thousands=" ").sign, Reading(decimal=",").sign
        ('.', None, ',')
        """
        if self.decimal is not None:
            return cast("Decimal", self.decimal)
        return {",": ".", ".": ","}.get(self.thousands or "")  # type: ignore[return-value]


_NOTHING = Reading()
_asked: ContextVar[Reading] = ContextVar("reading", default=_NOTHING)


@contextmanager
def reading_as(reading: Reading) -> Iterator[None]:
    """Read every table in this way, for as long as the block lasts: what a command line says of its tables.

    >>> with reading_as(Reading(decimal=",")):
    ...     asked().decimal
    ','
    """
    token = _asked.set(reading)
    try:
        yield
    finally:
        _asked.reset(token)


def asked() -> Reading:
    """How tables are to be read now."""
    return _asked.get()
