"""Exposure: what a count is in proportion to, such as person-years, visits or inhabitants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.errors import TableError
from proxycal.table.wording import counted, rows_of, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.table.require import ReadTable
    from proxycal.table.roles import Roles


def exposure_of(table: ReadTable, roles: Roles) -> NDArray[np.float64] | None:
    """(N,) what each count is in proportion to, above 0 or an error; None without such a column."""
    if roles.exposure is None or roles.exposure not in table.columns:
        return None
    values = table.columns[roles.exposure].numbers
    if values is None:
        raise TableError(
            f"column {shown(roles.exposure)} (exposure) must be numeric: convert it, or choose another"
        )
    bad = ~(np.isfinite(values) & (values > 0.0))
    if bad.any():
        raise TableError(
            f"column {shown(roles.exposure)} (exposure) holds {counted(int(bad.sum()), 'value')} that cannot "
            f"be an exposure, {rows_of(bad, table.index)}: what a count is in proportion to is above 0; "
            "correct or remove those rows"
        )
    return values
