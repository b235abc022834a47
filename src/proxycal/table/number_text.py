"""Text that was meant as numbers: told from categories by how much of it reads like numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from proxycal.table.surface import in_file
from proxycal.table.wording import shown

if TYPE_CHECKING:
    from proxycal.table.columns import Column

# More different texts that read like numbers than this are numbers, no codes of categories.
MOST_NUMBER_CODES = 50
_EITHER = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")


def number_text(column: Column) -> bool:
    """Whether text was meant as numbers, as most of it reads like numbers."""
    alike = column.looks_numeric()
    return len(alike) > 0 and len(alike) >= len(column.levels) / 2


def number_codes(column: Column) -> bool:
    """Whether a category is text that was meant as numbers, by how many different ones there are."""
    return len(column.levels) > MOST_NUMBER_CODES and number_text(column)


def two_readings(column: Column) -> str:
    """What to do about "50,015" in a file, a whole number or one with decimals; "" for other text.

    >>> import numpy as np
    >>> from proxycal.table.columns import Column
    >>> from proxycal.table.surface import speaking
    >>> column = Column("x", "text", np.zeros(1, bool), codes=np.zeros(1, int), levels=("50,015",))
    >>> with speaking("shell"):
    ...     two_readings(column)
    "'50,015' may be 50015 or 50.015: write it one of these ways in the file"
    """
    if not in_file():
        return ""
    value = next((level.strip() for level in column.levels if _EITHER.fullmatch(level.strip())), "")
    if not value or any("," in level and not _EITHER.fullmatch(level.strip()) for level in column.levels):
        return ""
    whole, decimals = value.replace(",", ""), value.replace(",", ".")
    return f"{shown(value)} may be {whole} or {decimals}: write it one of these ways in the file"
