"""Columns that repeat each other: exact duplicates, copies of the outcome, near-collinear sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from proxycal.table.codes import fit_code
from proxycal.table.scale import centre_and_spread, exponent_of, shrink, varies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from proxycal.table.columns import Column

# An eigenvalue of the correlation matrix below this is a pair correlated above 0.999, or a set that adds up.
COLLINEAR = 1e-3
# Share of the variance left beside an affine copy: rounding alone.
COPY = 1e-10
MOST_COLUMNS = 2000
_DISTINCT = 10
_FEW, _FIRST = 50, 1000
# Part of the range that is no rounding.
_TURN = 1e-3
_LOADING = 0.15


def duplicates(columns: Sequence[Column]) -> list[tuple[str, ...]]:
    """Groups of columns that hold the same values in every row."""
    groups: dict[tuple[bytes, tuple[str, ...]], list[str]] = {}
    for column in columns:
        values = (
            column.codes if column.numbers is None else np.where(column.missing, np.nan, column.numbers + 0.0)
        )
        assert values is not None
        groups.setdefault((values.tobytes(), column.levels), []).append(column.name)
    return [tuple(names) for names in groups.values() if len(names) > 1]


def copies(outcome: Column, columns: Sequence[Column]) -> list[tuple[str, str]]:
    """Columns that are the outcome itself, in other units or on another scale: (name, how)."""
    if outcome.numbers is None:
        return []
    found = []
    for column in columns:
        if column.numbers is None:
            continue
        both = np.flatnonzero(np.isfinite(outcome.numbers) & np.isfinite(column.numbers))
        # A copy of all rows is a copy of some rows, so a few rows clear nearly every column at once.
        if _turns(column.numbers[both[:_FEW]], outcome.numbers[both[:_FEW]]):
            continue
        how: str | None = ""
        for rows in (both[:_FIRST], both):
            if how is not None:
                how = _copied(column.numbers[rows], outcome.numbers[rows])
        if how:
            found.append((column.name, how))
    return found


def collinear_sets(
    columns: Sequence[Column], rows: NDArray[np.bool_]
) -> list[tuple[tuple[str, ...], float]] | None:
    """Sets of columns that nearly determine each other, with their eigenvalue; None: cannot be told.

    Read off the small eigenvalues of the correlation matrix of the encoded columns, whose eigenvectors
    say who takes part (Belsley, Kuh and Welsch).
    """
    parts: list[NDArray[np.float64]] = []
    sources: list[str] = []
    weights = np.ones(int(rows.sum()))
    for column in columns:
        encoded = _encoded(column.take(rows), weights)
        if len(sources) + encoded.shape[1] <= MOST_COLUMNS:
            parts.append(encoded)
            sources += [column.name] * encoded.shape[1]
    if not sources or len(weights) <= 2 * len(sources):
        return None
    Z = np.column_stack(parts)
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    values, vectors = np.linalg.eigh(Z.T @ Z / len(Z))
    found = []
    for value, vector in zip(values, vectors.T, strict=True):
        if value < COLLINEAR:
            names = dict.fromkeys(sources[i] for i in np.flatnonzero(np.abs(vector) > _LOADING))
            found.append((tuple(names), float(max(value, 0.0))))
    return found


def _encoded(column: Column, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, k) the column as a fit would see it, but for the units of numbers; k = 0 where it is constant."""
    if column.numbers is not None:
        small = shrink(column.numbers, exponent_of(column.numbers))
        return small[:, None] if varies(small) else small[:, None][:, :0]
    code = fit_code(column, weights, impute=False)
    return code.apply(column, pd.RangeIndex(len(weights)), np.ones(len(weights), dtype=bool))


def _turns(x: NDArray[np.float64], y: NDArray[np.float64]) -> bool:
    """Whether y, along x, goes up here and down there by more than rounding: no copy does."""
    order = np.argsort(x)
    x, y = x[order], y[order]
    if len(y) < 3 or not (x[1:] > x[:-1]).all():
        return False
    with np.errstate(over="ignore"):
        steps, least = np.diff(y), _TURN * (y.max() - y.min())
    return bool(np.isfinite(least) and least > 0.0 and steps.min() < -least and steps.max() > least)


def _copied(x: NDArray[np.float64], y: NDArray[np.float64]) -> str | None:
    """How x is a copy of y; None if it is not, "" if too few values differ to tell."""
    if len(y) < 3 or not varies(y) or not varies(x):
        return ""
    if np.array_equal(x, y):
        return "equals the outcome"
    if 1 - float(np.mean(_standard(x) * _standard(y))) ** 2 < COPY:
        return "is the outcome in other units (a + b * outcome)"
    if len(np.unique(y)) < _DISTINCT:
        return ""
    steps = np.diff(y[np.argsort(x)])
    # Ties of x may be in any order among themselves, which only ranks can tell.
    if steps.min() < 0.0 < steps.max() and len(np.unique(x)) == len(x):
        return None
    ranks_x, ranks_y = pd.Series(x).rank(), pd.Series(y).rank()
    if (ranks_x == ranks_y).all() or (ranks_x == len(x) + 1 - ranks_y).all():
        return "puts the rows in exactly the order of the outcome, as log(outcome) would"
    return None


def _standard(x: NDArray[np.float64]) -> NDArray[np.float64]:
    small = shrink(x, exponent_of(x))
    centre, spread = centre_and_spread(small, np.ones(len(x)))
    return (small - centre) / spread
