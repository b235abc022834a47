"""The question of the audit about validated rows: whether they are enough, in the units of the outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.table.audited import Trouble
from proxycal.table.require import other_units
from proxycal.table.wording import counted, shown

if TYPE_CHECKING:
    from proxycal.table.audited import AuditTable

# From so many validated rows on method="auto" learns from them.
VALIDATED_ROWS = 30


def too_few_text(name: str, n: int) -> str:
    """What n validated rows, fewer than are needed, mean for a fit.

    >>> too_few_text("truth", 1)
    "column 'truth' validates 1 row, and calibration is learned from 30 on: fewer only check the answer"
    """
    return (
        f"column {shown(name)} validates {counted(n, 'row')}, and calibration is learned from "
        f"{VALIDATED_ROWS} on: fewer only check the answer"
    )


def truth(table: AuditTable) -> list[Trouble]:
    """Validated rows: too few to learn from, or in other units than the outcome."""
    names = (table.roles.outcome, table.roles.truth)
    columns = [None if name is None else table.columns.get(name) for name in names]
    y, known = (None if column is None else column.numbers for column in columns)
    if y is None or known is None:
        return []
    times = other_units(y, known)
    if times is not None:
        return [
            Trouble(
                f"column {shown(names[1])}: about {times:,.4g} times {shown(names[0])}, "
                f"{table.rows(np.isfinite(known))}",
                f"The truth in {shown(names[1])} is about {times:,.4g} times the report in validated rows, "
                "as if it were in other units.",
                "Convert one of the two columns.",
                times,
            )
        ]
    n = int(np.isfinite(known).sum())
    if n >= VALIDATED_ROWS:
        return []
    return [
        Trouble(
            f"column {shown(names[1])}: {counted(n, 'validated row')}",
            f"Column {shown(names[1])} has the true value of {n} of {counted(table.n, 'row')}; the "
            f"calibration is learned from {VALIDATED_ROWS} or more.",
            f"Validate {VALIDATED_ROWS - n} more rows if you can; these few only check the answer.",
            float(n),
            ok=True,
        )
    ]
