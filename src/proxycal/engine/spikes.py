"""Spikes: values that many true outcomes hold, such as exact zeros, and where models with them begin.

A bias of one size moves a spike as a whole, so that two values are held by many rows: either is a spike
of its own, which models without a bias have, or the upper one is the lower one moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from proxycal.engine.families.normal import SPIKE_SD

if TYPE_CHECKING:
    from proxycal.engine.model import Model

# A value is a spike where so many of the rows hold it. Values of a grid or a scale are held by many rows too:
# there are more of them.
LEAST_SHARE, MOST_SPIKES = 0.03, 4


@dataclass(frozen=True, slots=True)
class Moved:
    """A spike at `low` that a bias has moved to `high` in some rows. others : spikes that stay."""

    low: float
    high: float
    others: tuple[float, ...]

    @property
    def size(self) -> float:
        """How far."""
        return self.high - self.low

    @property
    def spikes(self) -> tuple[float, ...]:
        """The spikes of the truth."""
        return (self.low, *self.others)


def held_by_many(y: np.ndarray, weights: np.ndarray) -> tuple[float, ...]:
    """Values of y (n,) that are spikes, ascending; none where there are more than a few.

    >>> held_by_many(np.repeat(np.arange(6.0), 5), np.ones(30))
    ()
    >>> held_by_many(np.r_[np.zeros(5), np.linspace(1.0, 2.0, 95)], np.ones(100))
    (0.0,)
    """
    # Values that differ by floating-point error are one.
    at = np.unique(np.round(y / (0.01 * SPIKE_SD)), return_inverse=True)[1]
    mass = np.bincount(at, weights=weights)
    heavy = np.flatnonzero(mass >= max(LEAST_SHARE * weights.sum(), 2.0))
    if len(heavy) > MOST_SPIKES:
        return ()
    return tuple(float(np.median(y[at == each])) for each in heavy)


def pairs(spikes: tuple[float, ...]) -> list[Moved]:
    """All ways in which one spike may be another that was moved."""
    return [
        Moved(low, high, tuple(value for value in spikes if value not in (low, high)))
        for at, low in enumerate(spikes)
        for high in spikes[at + 1 :]
    ]


def on_any(y: np.ndarray, spikes: tuple[float, ...]) -> np.ndarray:
    """Which rows (n,) are on a spike."""
    on = np.zeros(len(y), dtype=bool)
    for value in spikes:
        on |= np.abs(y - value) < SPIKE_SD
    return on


def weigh(model: Model, theta: np.ndarray, y: np.ndarray, weights: np.ndarray, moved: Moved | None) -> None:
    """Weights of a model's spikes at the start: their shares; of one that was moved, with where it went."""
    spikes = getattr(model.family, "spikes", ())
    off = weights[~on_any(y, spikes if moved is None else (*spikes, moved.high))].sum()
    for k, value in enumerate(spikes, start=1):
        places = (value, moved.high) if moved is not None and value == moved.low else (value,)
        share = weights[on_any(y, places)].sum() / max(off, 1e-9)
        part = model.at(f"spike{k}")
        theta[part] = 0.0
        theta[part.start] = np.log(max(share, 1e-6))
