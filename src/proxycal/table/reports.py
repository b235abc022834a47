"""Several reports of one truth: the outcome of a row is the first of them that was made."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.table.columns import Column
from proxycal.table.require import measured, refuse_huge

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from proxycal.table.require import ReadTable
    from proxycal.table.roles import Roles


def with_reports(table: ReadTable, roles: Roles) -> ReadTable:
    """The table with its reports side by side, and the first that was made as its outcome."""
    if not roles.reports:
        return table
    reports = np.column_stack([measured(table.columns[name], "outcome") for name in roles.report_names])
    for name, values in zip(roles.report_names, reports.T, strict=True):
        refuse_huge(values, name, "outcome", table.index)
    outcome = outcome_column(roles, reports)
    return replace(table, columns=table.columns | {roles.outcome: outcome}, reports=reports)


def outcome_column(roles: Roles, reports: NDArray[np.float64]) -> Column:
    """The outcome as a column: of each row (N, R) the first report that was made."""
    y = first_made(reports)
    return Column(roles.outcome, "number", np.isnan(y), y)


def first_made(reports: NDArray[np.float64]) -> NDArray[np.float64]:
    """The first report (N,) of each row (N, R) that was made; NaN where none was.

    >>> first_made(np.array([[1.0, 2.0], [np.nan, 3.0], [np.nan, np.nan]])).tolist()
    [1.0, 3.0, nan]
    """
    seen = np.isfinite(reports)
    return np.asarray(reports[np.arange(len(reports)), np.argmax(seen, axis=1)])


def gaps_of(frame: pd.DataFrame, roles: Roles, names: list[str]) -> pd.DataFrame:
    """Where the named columns (N, k) of a frame have gaps that cost a row: of several reports, where none is.

    >>> import pandas as pd
    >>> from proxycal.table.roles import Roles
    >>> table = pd.DataFrame({"own": [1.0, None, None], "register": [2.0, 2.0, None]})
    >>> gaps_of(table, Roles(["own", "register"]), ["own"])["own"].tolist()
    [False, False, True]
    """
    gaps = frame[names].isna()
    if roles.reports and roles.outcome in names:
        gaps[roles.outcome] = frame[list(roles.report_names)].isna().all(axis=1)
    return gaps
