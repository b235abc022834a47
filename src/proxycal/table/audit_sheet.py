"""The sheet for an auditor: rows to validate with an empty column for the truth, and the way back.

table + plan --> sheet.csv --filled in by the auditor--> table with truth and inclusion probability
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd

from proxycal.errors import TableError
from proxycal.table.columns import read_column
from proxycal.table.frames import to_pandas
from proxycal.table.guess import naming_columns
from proxycal.table.wording import FILE_ROW, counted, listed, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.table.roles import Roles

ROW, STRATUM, PROBABILITY, TRUTH = "row", "stratum", "inclusion_probability", "truth"
# The first row of data in a file is its second line.
FIRST_ROW = 2


class Plan(Protocol):
    """Rows to validate: positions, strata and probabilities (n,), and what is gained."""

    @property
    def rows(self) -> NDArray[np.intp]:
        """Positions among the rows that the plan chose from."""

    @property
    def stratum(self) -> NDArray[np.int64]:
        """The stratum of each."""

    @property
    def probability(self) -> NDArray[np.float64]:
        """The probability with which each was chosen."""

    @property
    def ratio(self) -> float:
        """Error of the mean beside that of a random choice."""

    @property
    def reading(self) -> str:
        """What is gained, in words."""

    @property
    def random(self) -> bool:
        """Whether the choice is random."""


def sheet(frame: Any, roles: Roles, kept: NDArray[np.bool_], plan: Plan) -> pd.DataFrame:
    """The rows to validate, under the index of the table; kept (N,) : the rows that the plan chose from.

    row (line of the file, or of one that has a header), what names the row (id, cluster, other names of
    places and groups, dates), the report, stratum (1 is the surest), inclusion_probability, and the truth to
    be filled in.
    """
    table = to_pandas(frame)
    rows = np.flatnonzero(kept)[plan.rows]
    chosen = table.iloc[rows]
    columns: dict[str, Any] = {ROW: _lines(table)[rows]}
    own = (ROW, STRATUM, PROBABILITY, truth_name(roles), roles.outcome)
    naming = {role: getattr(roles, role) for role in ("id", "cluster")}
    found = set(naming.values()) | set(naming_columns(table))
    for name in [*(name for name in table.columns if name in found and name not in own), roles.outcome]:
        columns[name] = chosen[name].to_numpy()
    columns |= {STRATUM: plan.stratum + 1, PROBABILITY: plan.probability, truth_name(roles): np.nan}
    made = pd.DataFrame(columns, index=chosen.index)
    made.attrs = {"reading": plan.reading, "ratio": plan.ratio, "random": plan.random}
    return made


def truth_name(roles: Roles) -> str:
    """The column of the truth: that of the role, or "truth"."""
    return roles.truth or TRUTH


def take_back(frame: Any, roles: Roles, filled: pd.DataFrame) -> pd.DataFrame:
    """The table with what the auditor found, and the probability with which each validated row was chosen.

    Rows that were validated before stand for themselves (probability 1). Where some rows of a stratum were
    not filled in, the others stand for them.
    """
    table = to_pandas(frame).copy()
    truth = truth_name(roles)
    _require_columns(filled, (ROW, roles.outcome, STRATUM, PROBABILITY, truth))
    rows = _positions(filled, table, roles)
    found = read_column(filled[truth], truth)
    if found.numbers is None:
        if found.missing.all():
            raise TableError(f"column {shown(truth)} of the audit is empty: fill in the true values first")
        raise TableError(
            f"column {shown(truth)} of the audit holds text ({listed(found.levels)}): write numbers, and "
            "leave rows that could not be validated empty"
        )
    done = ~found.missing
    if not done.any():
        raise TableError(f"column {shown(truth)} of the audit is empty: fill in the true values first")
    probability = filled[PROBABILITY].to_numpy(dtype=float).copy()
    stratum = filled[STRATUM].to_numpy()
    for h in np.unique(stratum):
        inside = stratum == h
        probability[inside] *= done[inside].mean()
    values = _numbers(table, truth)
    included = np.where(np.isfinite(values), 1.0, np.nan)
    values[rows[done]] = found.numbers[done]
    included[rows[done]] = probability[done]
    table[truth], table[PROBABILITY] = values, included
    return table


def _lines(table: pd.DataFrame) -> NDArray[np.intp]:
    """(N,) the line of each row in its file; where that is not known, in one with a line of names."""
    if table.index.name == FILE_ROW:
        return table.index.to_numpy(dtype=np.intp)
    return np.arange(len(table)) + FIRST_ROW


def _require_columns(filled: pd.DataFrame, names: tuple[str, ...]) -> None:
    absent = [name for name in names if name not in filled.columns]
    if absent:
        raise TableError(
            f"the audit has no column {shown(absent[0])}: use the file that was written for the auditor, "
            "with its columns as they were"
        )


def _positions(filled: pd.DataFrame, table: pd.DataFrame, roles: Roles) -> NDArray[np.intp]:
    """Where the rows of the sheet stand in the table; each must have the report that it had."""
    row = read_column(filled[ROW], ROW)
    lines = np.full(len(filled), np.nan) if row.numbers is None else row.numbers
    of_table = pd.Index(_lines(table))
    rows = of_table.get_indexer(pd.Index(lines))
    bad = rows < 0
    if bad.any():
        raise TableError(
            f"{counted(int(bad.sum()), 'row')} of the audit cannot be found in the table (column "
            f"{shown(ROW)}): give the table that the audit was planned for"
        )
    if len(np.unique(rows)) < len(rows):
        raise TableError(f"the audit names a row twice (column {shown(ROW)}): keep one of them")
    name = roles.outcome
    own, other = (read_column(source[name], name).numbers for source in (table.iloc[rows], filled))
    if own is None or other is None or not np.allclose(own, other, rtol=1e-6, equal_nan=True):
        raise TableError(
            f"the reports ({shown(name)}) of the audit are not those of the table: give the table that the "
            "audit was planned for, with its rows in the same order"
        )
    return rows


def _numbers(table: pd.DataFrame, name: str) -> NDArray[np.float64]:
    """The truths that the table has already, (N,), NaN elsewhere."""
    if name not in table.columns:
        return np.full(len(table), np.nan)
    column = read_column(table[name], name)
    if column.numbers is not None:
        return column.numbers.copy()
    if column.missing.all():
        return np.full(len(table), np.nan)
    raise TableError(f"column {shown(name)} of the table holds {column.kind}: it must hold true values")
