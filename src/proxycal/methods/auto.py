"""method="auto": validated rows decide where there are enough of them, else the model comparison."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.methods.registry import METHODS
from proxycal.methods.validated.thresholds import LEAST_ROWS

if TYPE_CHECKING:
    from proxycal.methods.registry import MethodFit
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays


def teaching(arrays: Arrays, scale: str = "linear") -> int:
    """How many validated rows can teach: on the log scale those whose report and truth are above 0."""
    if arrays.truth is None:
        return 0
    known = np.isfinite(arrays.truth)
    if scale == "log" and arrays.y is not None:
        known &= (arrays.truth > 0.0) & (arrays.y > 0.0)
    return int(known.sum() if arrays.counts is None else arrays.counts[known].sum())


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
