"""The rows that a fit keeps as a table again, so that rows which came later can be added to them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from proxycal.errors import TableError
from proxycal.table.codes import CategoryCode
from proxycal.table.columns import read_column
from proxycal.table.decode import decoded
from proxycal.table.wording import columns_named

if TYPE_CHECKING:
    from proxycal.table.codes import Code
    from proxycal.table.encode import Arrays, Encoder

# Significant digits of a decoded number: what encoding rounds off is put right, so that 34 is 34 again.
DIGITS = 12
# Roles whose values are kept as they were.
_AS_THEY_WERE = ("truth", "inclusion", "trusted", "exposure", "counts")


def kept_table(encoder: Encoder, arrays: Arrays, labels: np.ndarray) -> pd.DataFrame:
    """The encoded rows as a table with the columns of the roles; labels (n,) name the rows.

    Raises where the fit does not keep them: names of clusters, the unit of weights, constant columns.
    """
    roles = encoder.roles
    lost = [name for name in (roles.weights, roles.cluster, *encoder.dropped) if name is not None]
    if lost:
        raise TableError(
            f"a fit does not keep {columns_named(lost)} as the table has it: pass the table that was fitted, "
            "model.update(new, old=table)"
        )
    rows = decoded(encoder, arrays)
    gaps = {code.name: code.gap for code in categories(encoder)}
    columns: dict[str, object] = {name: rounded(values) for name, values in rows.numbers.items()}
    for name, (codes, names) in rows.levels.items():
        known = names[:-1] if gaps[name] else names
        columns[name] = pd.Categorical.from_codes(
            np.where(codes < len(known), codes, -1), pd.Index(known, dtype=object)
        ).astype(object)
    if arrays.reports is not None:
        for name, values in zip(arrays.report_names, arrays.reports.T, strict=True):
            columns[name] = rounded(values)
    for role in _AS_THEY_WERE:
        name, values = getattr(roles, role), getattr(arrays, role)
        if name is not None:
            columns[name] = np.full(arrays.n, np.nan) if values is None else values
    if roles.id is not None:
        columns[roles.id] = labels
    return pd.DataFrame(columns, index=labels)


def like_kept(encoder: Encoder, new: pd.DataFrame) -> pd.DataFrame:
    """New rows with the columns of the roles, levels as text as `kept_table` has them."""
    levels = {code.name for code in categories(encoder)}
    columns: dict[str, pd.Series[Any]] = {}
    for name in encoder.roles.columns:
        if name not in new.columns:
            if name in (encoder.roles.truth, encoder.roles.inclusion, encoder.roles.trusted):
                columns[name] = pd.Series(np.nan, new.index)
                continue
            raise TableError(f"the new rows have no {columns_named([name])}, which the fit reads: add it")
        columns[name] = _as_text(new[name]) if name in levels else new[name]
        if name == encoder.roles.id:
            columns[name] = new[name].astype(str)
    return pd.DataFrame(columns, index=new.index)


def readable(encoder: Encoder, new: pd.DataFrame) -> np.ndarray:
    """Which rows (N,) have levels that the fit has seen; the others cannot be compared with its rows."""
    seen = np.ones(len(new), dtype=bool)
    for code in categories(encoder):
        column = _as_text(new[code.name])
        seen &= (column.isin(code.levels) | (code.gap & column.isna())).to_numpy()
    return seen


def categories(encoder: Encoder) -> list[CategoryCode]:
    """The columns that became levels."""
    codes: tuple[Code, ...] = (*encoder.proxies, *encoder.environment)
    return [code for code in codes if isinstance(code, CategoryCode)]


def rounded(values: np.ndarray) -> np.ndarray:
    """Numbers to `DIGITS` significant digits of the largest.

    >>> rounded(np.array([34.0 + 1e-14, np.nan, 0.1])).tolist()
    [34.0, nan, 0.1]
    """
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    if largest == 0.0:
        return values
    return np.round(values, DIGITS - 1 - math.floor(math.log10(largest)))


def _as_text(column: pd.Series) -> pd.Series:
    codes, levels = read_column(column, str(column.name)).as_levels()
    names = np.array([*levels, None], dtype=object)
    return pd.Series(names[codes], index=column.index, dtype=object)
