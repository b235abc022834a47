"""Trusted rows: reports known to be free of the bias, as the table marks them, and the audit's question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.errors import TableError
from proxycal.result import Finding
from proxycal.table.audited import Trouble
from proxycal.table.wording import counted, rows_of, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.table.audited import AuditTable
    from proxycal.table.columns import Column
    from proxycal.table.encode import Arrays
    from proxycal.table.require import ReadTable
    from proxycal.table.roles import Roles

# Trusted rows below which their level says little: as many as a level of a category needs for a coefficient.
TRUSTED_ROWS = 10
_HOW = (
    "write True (or 1) where a report is known to be free of the bias, and False (or 0) or nothing elsewhere"
)


def trusted_of(table: ReadTable, roles: Roles) -> NDArray[np.bool_] | None:
    """(N,) True where the report is known to be free of the bias; None where the table has no such column."""
    if roles.trusted is None or roles.trusted not in table.columns:
        return None
    marks, bad = read_marks(table.columns[roles.trusted])
    if bad.any():
        raise TableError(
            f"column {shown(roles.trusted)} (trusted) holds {counted(int(bad.sum()), 'value')} other than "
            f"True and False, {rows_of(bad, table.index)}: {_HOW}"
        )
    return marks


def read_marks(column: Column) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which rows (N,) are marked, and which hold something that is no mark: neither true, false nor blank."""
    values = np.full(len(column.missing), np.nan) if column.missing.all() else column.as_numbers()
    if values is None:
        return np.zeros(len(column.missing), dtype=bool), ~column.missing
    return values == 1.0, ~(np.isnan(values) | (values == 0.0) | (values == 1.0))


def trust(arrays: Arrays, roles: Roles) -> list[Finding]:
    """What a fit takes for granted of the trusted rows; nothing where there are none."""
    n = 0 if arrays.trusted is None else int(arrays.trusted.sum())
    if n == 0:
        return []
    return [
        Finding(
            "Which reports are trusted?",
            f"{n:,} of {arrays.n:,} rows",
            f"The reports of {n:,} of {arrays.n:,} rows are taken as free of the bias, as column "
            f"{shown(roles.trusted)} says; the data cannot contradict this.",
            "Mark only rows for which this is known.",
            ok=True,
            topic="trusted",
            value=float(n),
        )
    ]


def trusted(table: AuditTable) -> list[Trouble]:
    """Marks that cannot be read, no row left to calibrate, or too few trusted rows."""
    name = table.roles.trusted
    column = None if name is None else table.columns.get(name)
    if column is None:
        return []
    marks, bad = read_marks(column)
    if bad.any():
        return [
            Trouble(
                f"column {shown(name)}: {counted(int(bad.sum()), 'value')}, {table.rows(bad)}",
                f"Column {shown(name)} holds {counted(int(bad.sum()), 'value')} other than True and False.",
                f"{_HOW[:1].upper()}{_HOW[1:]}.",
                float(bad.sum()),
                must_fix=True,
            )
        ]
    n = int(marks.sum())
    if n == table.n:
        return [
            Trouble(
                f"column {shown(name)}: all {counted(n, 'row')}",
                f"Column {shown(name)} marks every row as trusted, so there is no bias to look for.",
                "Mark only the rows whose reports are known to be free of the bias.",
                float(n),
            )
        ]
    if n >= TRUSTED_ROWS:
        return []
    return [
        Trouble(
            f"column {shown(name)}: {counted(n, 'trusted row')}",
            f"Column {shown(name)} marks {n} of {counted(table.n, 'row')} as trusted; {TRUSTED_ROWS} or more "
            "set the level of a graded bias.",
            "Mark more rows if you can.",
            float(n),
            ok=True,
        )
    ]
