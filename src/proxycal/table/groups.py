"""The columns that totals read of all rows, with gaps or not: groups, weights, counts and reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from pandas.api import types

from proxycal.errors import TableError
from proxycal.table.columns import read_column
from proxycal.table.reports import first_made
from proxycal.table.require import checked_counts
from proxycal.table.wording import counted, listed, rows_of, shown

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from proxycal.table.roles import Roles


def read_groups(frame: pd.DataFrame, by: str | None) -> tuple[NDArray[np.intp], list[Hashable]]:
    """The group of every row, (N,) positions in a list of the column's values; one group without a column.

    >>> read_groups(pd.DataFrame({"region": ["west", "east", "west"]}), "region")
    (array([0, 1, 0]), ['west', 'east'])
    """
    if by is None:
        return np.zeros(len(frame), dtype=np.intp), [None]
    column = frame[by]
    if (gone := column.isna().to_numpy()).any():
        raise TableError(
            f"column {shown(by)} (groups of the totals) holds {counted(int(gone.sum()), 'missing value')}, "
            f"{rows_of(gone, frame.index)}: give every row a group, or leave those rows out"
        )
    if types.is_float_dtype(column.dtype) and (column == column.round()).all():
        # A year that was read with a gap elsewhere is still a year.
        column = column.astype(np.int64)
    codes, values = pd.factorize(column)
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    return codes, plain


def read_weights(frame: pd.DataFrame, name: str | None) -> NDArray[np.float64]:
    """The weights of every row, (N,), as given; ones without a column."""
    if name is None:
        return np.ones(len(frame))
    values = _numbers(frame, name, "weights")
    for bad, what in ((~np.isfinite(values), "missing or infinite value"), (values < 0, "negative value")):
        if bad.any():
            raise TableError(
                f"column {shown(name)} (weights) holds {counted(int(bad.sum()), what)}, "
                f"{rows_of(bad, frame.index)}: a weight must be 0 or more; correct or remove those rows"
            )
    return values


def read_counts(frame: pd.DataFrame, name: str | None) -> NDArray[np.float64]:
    """How many equal rows each row stands for, (N,); ones without a column."""
    if name is None:
        return np.ones(len(frame))
    return checked_counts(_numbers(frame, name, "counts"), name, frame.index)


def read_outcome(frame: pd.DataFrame, roles: Roles) -> NDArray[np.float64]:
    """The report of every row, (N,), NaN where missing; of several the first that was made."""
    return first_made(np.column_stack([_numbers(frame, name, "outcome") for name in roles.report_names]))


def _numbers(frame: pd.DataFrame, name: str, role: str) -> NDArray[np.float64]:
    column = read_column(frame[name], name)
    if column.numbers is None:
        raise TableError(
            f"column {shown(name)} ({role}) must be numeric but holds {column.kind} "
            f"({listed(column.levels)}): choose a numeric column or convert it"
        )
    return column.numbers
