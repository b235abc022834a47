"""What a family is, and how a mixture over cells is put together.

A row is in one of several cells (biased or not, which size, which component). With l_c the log of the cell's
weight times its density, r_c = P(cell | row) and derivatives by the predictors,

    l = log sum_c exp l_c      l' = sum_c r_c l_c'      l'' = sum_c r_c (l_c'' + l_c' l_c'^T) - l' l'^T
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np


@dataclass(frozen=True, slots=True)
class Derivatives:
    """Log density (n,) of rows, its first (q, n) and second (q, q, n, upper triangle) derivatives."""

    log: np.ndarray
    first: np.ndarray
    second: np.ndarray


class Family(Protocol):
    """A kind of outcome."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the predictors, in order."""

    def log_density(self, outcome: dict[str, np.ndarray], eta: np.ndarray) -> np.ndarray:
        """Log density (n,) of rows with predictors eta (q, n)."""

    def derivatives(self, outcome: dict[str, np.ndarray], eta: np.ndarray) -> Derivatives:
        """The same with derivatives by the predictors."""


@dataclass(slots=True)
class Cell:
    """One cell: log (n,) of its weight times density, with the derivatives that are not zero everywhere."""

    log: np.ndarray
    first: dict[int, np.ndarray] = field(default_factory=dict)
    second: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)

    def add(self, a: int, b: int, value: np.ndarray) -> None:
        """Add to a second derivative."""
        key = (a, b) if a <= b else (b, a)
        self.second[key] = self.second[key] + value if key in self.second else value


def log_sum(logs: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Log of the sum (n,) and each cell's share (c, n)."""
    stacked = np.stack(logs)
    top = stacked.max(axis=0)
    parts = np.exp(stacked - top)
    total = parts.sum(axis=0)
    return top + np.log(total), parts / total


def mixed(cells: list[Cell], q: int) -> Derivatives:
    """The row's log density and derivatives from those of its cells."""
    log, share = log_sum([cell.log for cell in cells])
    n = len(log)
    first, second = np.zeros((q, n)), np.zeros((q, q, n))
    for cell, r in zip(cells, share, strict=True):
        moved = {a: r * value for a, value in cell.first.items()}
        for a, value in moved.items():
            first[a] += value
            for b, other in cell.first.items():
                if b >= a:
                    second[a, b] += value * other
        for (a, b), value in cell.second.items():
            second[a, b] += r * value
    for a in range(q):
        second[a, a:] -= first[a] * first[a:]
    return Derivatives(log, first, second)
