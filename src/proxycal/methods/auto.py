"""method="auto": validated rows decide where there are enough of them, else the model comparison."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.methods.registry import METHODS
from proxycal.methods.validated.thresholds import LEAST_DIFFERENT, LEAST_ROWS

if TYPE_CHECKING:
    from proxycal.methods.registry import MethodFit
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays


def count_validated(arrays: Arrays, scale: str = "linear") -> int:
    """How many rows are validated: on the log scale those whose report and truth are above 0."""
    if arrays.truth is None:
        return 0
    known = np.isfinite(arrays.truth)
    if scale == "log" and arrays.y is not None:
        known &= (arrays.truth > 0.0) & (arrays.y > 0.0)
    return int(known.sum() if arrays.counts is None else arrays.counts[known].sum())


def teaching(arrays: Arrays, scale: str = "linear") -> int:
    """How many validated rows can teach: copies of a few say no more than those."""
    rows = count_validated(arrays, scale)
    return int(min(rows, _different(arrays))) if rows else 0


def _different(arrays: Arrays) -> float:
    """How many different rows are validated; infinity for enough of them."""
    assert arrays.truth is not None
    known = np.isfinite(arrays.truth)
    columns = [arrays.truth, *([] if arrays.y is None else [arrays.y]), *arrays.P.T, *arrays.E.T]
    kind: np.ndarray = np.zeros(int(known.sum()))
    for column in columns:
        kind = np.unique(np.stack([kind, column[known]]), axis=1, return_inverse=True)[1].reshape(-1)
        if len(kind) and kind.max() + 1 >= LEAST_DIFFERENT:
            return np.inf
    return float(len(np.unique(kind)))


def choose(validated: int) -> str:
    """The method for a table with so many validated rows.

    >>> choose(30), choose(29)
    ('validated', 'exact')
    """
    return "validated" if validated >= LEAST_ROWS else "exact"


def fit_auto(arrays: Arrays, settings: Settings) -> MethodFit:
    """Fit arrays with the method that their validated rows allow."""
    name = choose(teaching(arrays, settings.scale))
    return METHODS[name].fit(arrays, replace(settings, method=name))
