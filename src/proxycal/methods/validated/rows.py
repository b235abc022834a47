"""What the candidates see of a table: reports, features, and the truth where it was validated."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.methods.validated.taught import NUMBER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# A grid that nearly all reports lie on, and multiples of it that people round to.
GRID_SHARE = 0.99
HEAPS = (5.0, 10.0, 50.0, 100.0, 1000.0)
# A heap is this many times as frequent as chance would make it, and by more than so many standard errors.
HEAP_TIMES, HEAP_SE = 1.5, 4.0


@dataclass(frozen=True, slots=True)
class Rows:
    """n rows: reports y (n,), features x (n, p) of about unit scale, truth (n,) with NaN where unknown.

    heap : (n,) whether the report is a round number, where such reports are frequent; else all False.
    block : (p,) the category that each 0/1 feature belongs to, -1 for a number; all numbers where not given.
    """

    y: Array
    x: Array
    truth: Array
    heap: NDArray[np.bool_]
    block: NDArray[np.int64] = field(default=None)  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        if self.block is None:
            object.__setattr__(self, "block", np.full(self.x.shape[1], NUMBER))

    @property
    def known(self) -> NDArray[np.bool_]:
        """(n,) whether the row is validated."""
        return np.isfinite(self.truth)

    def take(self, rows: NDArray[np.intp]) -> Rows:
        """Some of the rows, by position."""
        return Rows(self.y[rows], self.x[rows], self.truth[rows], self.heap[rows], self.block)

    def hiding(self, rows: NDArray[np.intp]) -> Rows:
        """The same rows, some of them as if they had not been validated."""
        truth = self.truth.copy()
        truth[rows] = np.nan
        return replace(self, truth=truth)


def heap_unit(y: Array) -> float:
    """The unit that many reports are rounded to, 0.0 where there is none.

    >>> y = np.arange(1000.0)
    >>> heap_unit(y), heap_unit(np.where(y % 3 == 0, 10 * np.floor(y / 10), y))
    (0.0, 10.0)
    """
    unit = _grid(y)
    most, found = 0.0, 0.0
    for times in HEAPS if unit > 0.0 else ():
        share, expected = float(np.mean(on_grid(y, unit * times))), 1.0 / times
        excess = share - expected
        se = np.sqrt(expected * (1.0 - expected) / len(y))
        if share > HEAP_TIMES * expected and excess > max(HEAP_SE * se, most):
            most, found = excess, unit * times
    return found


def on_grid(y: Array, unit: float) -> NDArray[np.bool_]:
    """Which values are multiples of a unit, (n,); none for a unit of 0.

    >>> on_grid(np.array([10.0, 12.0, -20.0]), 10.0).tolist()
    [True, False, True]
    """
    if unit == 0.0:
        return np.zeros(len(y), dtype=bool)
    return np.asarray(np.abs(y / unit - np.round(y / unit)) < 1e-9 * (1.0 + np.abs(y / unit)))


def _grid(y: Array) -> float:
    """The coarsest power of ten that nearly all values are multiples of; 0.0 where they are continuous."""
    top = float(np.max(np.abs(y)))
    if top == 0.0:
        return 0.0
    largest = int(np.floor(np.log10(top)))
    for power in range(largest, largest - 5, -1):
        if np.mean(on_grid(y, 10.0**power)) >= GRID_SHARE:
            return float(10.0**power)
    return 0.0
