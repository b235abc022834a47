"""Environment columns that say something: neither flat nor given by the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

# A column in which all but this share of rows agree tells nearly nobody apart.
LOW_VARIANCE = 0.005
# R2 on the columns kept before it, above which a column says nothing new.
COLLINEAR = 0.999


def is_flat(column: pd.Series) -> bool:
    """Whether nearly all rows have the same value."""
    return float(column.value_counts(normalize=True).iloc[0]) > 1.0 - LOW_VARIANCE


def independent(table: pd.DataFrame, names: list[str]) -> tuple[list[str], list[str]]:
    """Columns in turn, each kept if those kept before do not already give it; and those that they do."""
    kept: list[str] = []
    twins: list[str] = []
    for name in names:
        x = table[name].to_numpy(dtype=float)
        X = np.column_stack([np.ones(len(x)), table[kept].to_numpy(dtype=float)])
        left = x - X @ np.linalg.lstsq(X, x, rcond=None)[0]
        (twins if left.var() < (1.0 - COLLINEAR) * x.var() else kept).append(name)
    return kept, twins
