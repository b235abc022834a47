"""method="auto": validated rows decide where there are enough of them, else the model comparison."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from proxycal.methods.registry import METHODS
from proxycal.methods.validated.thresholds import LEAST_ROWS

if TYPE_CHECKING:
    from proxycal.methods.registry import MethodFit
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays


def teaching(arrays: Arrays, scale: str) -> int:
    """How many validated rows can teach: on the log scale those whose report and truth are above 0."""
    if scale != "log" or arrays.truth is None or arrays.y is None:
        return arrays.validated
    return int(((arrays.truth > 0.0) & (arrays.y > 0.0)).sum())


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
