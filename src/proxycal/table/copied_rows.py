"""Rows that are there twice: a file pasted below itself counts everything twice, and is too sure of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from proxycal.table.audited import Trouble
from proxycal.table.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from proxycal.table.audited import AuditTable

# Copies of fewer rows than this share change neither a total nor an error by much.
SHARE = 0.01
# Where this share of the other rows has a value of its own, in two columns, no row is another by chance.
OWN = 0.9


def copied(table: AuditTable) -> list[Trouble]:
    """Rows that are equal to an earlier one in every column of the roles, where that is no chance."""
    columns = {
        name: column.codes if column.numbers is None else column.numbers
        for name, column in table.columns.items()
    }
    columns |= table.keys
    again = copies({name: values for name, values in columns.items() if values is not None})
    if not again.any():
        return []
    count = int(again.sum())
    return [
        Trouble(
            f"{counted(count, 'row')} of {table.n:,} equal to another in every column, {table.rows(again)}",
            f"{counted(count, 'row')} are there more than once, where nearly every other row has values "
            "of its own: totals count them twice, and intervals are too narrow.",
            "Leave the copies out; where they are other rows, add a column that tells them apart (role id).",
            float(count),
        )
    ]


def copies(columns: Mapping[str, NDArray[np.generic]]) -> NDArray[np.bool_]:
    """Rows that are equal to an earlier one (n,); none where they are few, or may be equal by chance.

    >>> y, p = np.array([1.5, 2.5, 3.5, 1.5]), np.array([4.0, 7.0, 5.0, 4.0])
    >>> copies({"y": y, "p": p}).tolist()
    [False, False, False, True]
    >>> copies({"y": y, "answer": np.array([0, 1, 0, 0])}).any()
    np.False_
    """
    n = len(next(iter(columns.values()), ()))
    least, none = max(SHARE * n, 1.0), np.zeros(n, dtype=bool)
    again = ~none
    for values in columns.values():
        again &= pd.Series(values).duplicated().to_numpy()
        if again.sum() < least:
            return none
    again = pd.DataFrame(dict(columns)).duplicated().to_numpy()
    others = int((~again).sum())
    own = sum(len(np.unique(values[~again])) >= OWN * others for values in columns.values())
    return again if again.sum() >= least and own >= 2 else none
