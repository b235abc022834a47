"""What the audit says of the type of the outcome: a rating, a count, rounded, heaped, cut off at an end."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from proxycal.table.audited import Trouble
from proxycal.table.outcome_type import OutcomeType, outcome_type
from proxycal.table.wording import shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.table.audited import AuditTable

_AS_RANGES = "Nothing to do: each value counts as the range that it stands for."
_AS_OPEN = "Nothing to do: these rows count as that value or anything beyond it."
_TWO_VALUES = "Use an outcome that is measured in more than two values."


def outcome(table: AuditTable) -> list[Trouble]:
    """Grids, heaps and ends of the outcome; only two values ask for attention."""
    column = table.columns.get(table.roles.outcome)
    if column is None or column.numbers is None:
        return []
    y = column.numbers[np.isfinite(column.numbers)]
    kind = outcome_type(y)
    name = shown(table.roles.outcome)
    return [*_grid(y, kind, name), *_ends(y, kind, name)]


def explained(value: float, kind: OutcomeType) -> bool:
    """Whether the type of the outcome explains why many rows share a value, so that it is no spike.

    A pile of zeros may be a cut-off or rows that have none of it: it stays a spike to be told of.

    >>> explained(5.0, OutcomeType("rating scale", 1.0, low=1.0, high=5.0))
    True
    >>> explained(0.0, OutcomeType(low=0.0))
    False
    """
    cut_off = value in (kind.low, kind.high) and value != 0.0
    return value != kind.spike and (kind.step > 0.0 or cut_off)


def _grid(y: NDArray[np.float64], kind: OutcomeType, name: str) -> list[Trouble]:
    if kind.kind == "continuous":
        return []
    steps = f"{len(np.unique(y))} different values from {y.min():g} to {y.max():g}"
    steps += f", in steps of {kind.step:g}" if kind.step > 0.0 else ""
    statistic = f"column {name}: {steps}"
    if kind.kind == "rating scale" and len(np.unique(y)) == 2:
        reading = f"{name} takes two values, so the size of a bias cannot be distinguished from its share."
        return [Trouble(statistic, reading, _TWO_VALUES, kind.step)]
    if kind.kind == "rating scale":
        reading = (
            f"{name} is a rating scale from {kind.low:g} to {kind.high:g}; its ends stand for all values "
            "beyond them."
        )
    elif kind.kind == "counts":
        reading = f"{name} counts something: whole numbers from {y.min():g} up."
    elif kind.kind == "rounded":
        reading = f"{name} is rounded to multiples of {kind.step:g}."
    else:
        heaps = " and ".join(f"{heap:g}" for heap in kind.heaps)
        on = float(np.mean(_on_heap(y, kind)))
        statistic += f"; {on:.0%} of the rows are multiples of {kind.heaps[0]:g}"
        reading = f"Some rows of {name} are rounded to multiples of {heaps}, others are not."
    return [Trouble(statistic, reading, _AS_RANGES, kind.step or kind.heaps[0], ok=True)]


def _on_heap(y: NDArray[np.float64], kind: OutcomeType) -> NDArray[np.bool_]:
    at = y / kind.heaps[0]
    return np.asarray(np.abs(at - np.rint(at)) < 1e-9)


def _ends(y: NDArray[np.float64], kind: OutcomeType, name: str) -> list[Trouble]:
    if kind.kind in ("rating scale", "counts"):
        return []
    troubles = []
    for value, which, beyond in ((kind.low, "lowest", "below"), (kind.high, "highest", "above")):
        if math.isfinite(value):
            share = float(np.mean(np.isclose(y, value, rtol=1e-9, atol=0.0)))
            troubles.append(
                Trouble(
                    f"column {name}: {value:g} in {share:.0%} of the rows, none {beyond}",
                    f"{name} seems to be cut off at its {which} value, {value:g}.",
                    _AS_OPEN,
                    share,
                    ok=True,
                )
            )
    return troubles
