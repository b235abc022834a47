"""Validation as sums: of so many events of a row's kind checked, so many were reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.errors import TableError
from proxycal.table.wording import counted, rows_of, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.table.columns import Column
    from proxycal.table.require import ReadTable
    from proxycal.table.roles import Roles

# Rows that a fit needs, in all and for each column of proxies and environment.
MIN_ROWS, ROWS_PER_COLUMN = 20, 2
# The same sums in more rows than this may be one validation written into every row of a unit.
_SMALL = 5.0


def rows_needed(width: int, roles: Roles) -> int:
    """Rows that a fit on so many columns needs; where rows are sums with sums of validation, one more."""
    return max(MIN_ROWS, ROWS_PER_COLUMN * width) if roles.checked is None else width + 1


def checked_of(
    table: ReadTable, roles: Roles
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """(N,) how many were checked, 0 where none, and how many of them were confirmed; None without them."""
    if roles.checked is None or roles.confirmed is None:
        return None, None
    if roles.checked not in table.columns or roles.confirmed not in table.columns:
        return None, None
    checked = _numbers(table.columns[roles.checked], "checked")
    confirmed = _numbers(table.columns[roles.confirmed], "confirmed")
    bad = (checked < 0.0) | (confirmed < 0.0) | (confirmed > checked)
    if bad.any():
        raise TableError(
            f"columns {shown(roles.checked)} (checked) and {shown(roles.confirmed)} (confirmed) do not fit "
            f"together in {counted(int(bad.sum()), 'row')}, {rows_of(bad, table.index)}: of what was "
            "checked, between none and all can be confirmed"
        )
    _refuse_copies(table, roles, checked, confirmed)
    return checked, confirmed


def _numbers(column: Column, role: str) -> NDArray[np.float64]:
    values = np.full(len(column.missing), np.nan) if column.missing.all() else column.numbers
    if values is None:
        raise TableError(
            f"column {shown(column.name)} ({role}) must be numeric: convert it, or choose another"
        )
    return np.asarray(np.nan_to_num(values))


def _refuse_copies(
    table: ReadTable, roles: Roles, checked: NDArray[np.float64], confirmed: NDArray[np.float64]
) -> None:
    """Raise where one validation seems to be written into every row of a unit, and would count again."""
    units = [table.columns[name] for name in roles.environment if name in table.columns]
    codes = next((column.codes for column in units if column.codes is not None), None)
    if codes is None:
        return
    rows = np.flatnonzero(checked > _SMALL)
    seen = np.column_stack([codes[rows], checked[rows], confirmed[rows]])
    again = np.zeros(len(checked), dtype=bool)
    again[rows] = True
    if len(rows):
        first = np.unique(seen, axis=0, return_index=True)[1]
        again[rows[first]] = False
    if again.any():
        raise TableError(
            f"{counted(int(again.sum()), 'row')} repeat the checked and confirmed numbers of a row of "
            f"the same unit, {rows_of(again, table.index)}: each counts once: write it into one row "
            "of its unit and leave the others blank"
        )
