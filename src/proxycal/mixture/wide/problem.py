"""The rows that wider models are compared on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.least_squares import least_squares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Problem:
    """The rows of one comparison.

    y (n,) outcome, standardised, the bias upward; X (n,p) content features, orthonormal, first column 1; E
    (n,q) environment, orthonormal, no intercept; m (n,) standardised content index; weights (n,); low, high
    (n,): where the outcome lies if it is known as an interval, or None; floor: smallest sd of a component;
    noise (n,) or 0: variance beyond that of the components, for answers only: gradients take it as none;
    trusted (n,): where no bias can be, or None.
    """

    y: Array
    X: Array
    E: Array
    m: Array
    weights: Array
    floor: float = 0.05
    low: Array | None = None
    high: Array | None = None
    noise: Array | float = 0.0
    trusted: NDArray[np.bool_] | None = None

    @property
    def n(self) -> float:
        """Total weight of the rows."""
        return float(self.weights.sum())

    def with_column(self, column: Array) -> Problem:
        """The same with one more content column."""
        centred = column - np.average(column, weights=self.weights)
        left = centred - self.X @ least_squares(self.X, centred)
        sd = float(np.sqrt(np.average(left**2, weights=self.weights)))
        return replace(self, X=np.column_stack([self.X, left / max(sd, 1e-12)]))

    def take(self, index: NDArray[np.intp]) -> Problem:
        """Some of the rows."""
        return replace(
            self,
            y=self.y[index],
            X=self.X[index],
            E=self.E[index],
            m=self.m[index],
            weights=self.weights[index],
            low=None if self.low is None else self.low[index],
            high=None if self.high is None else self.high[index],
            trusted=None if self.trusted is None else self.trusted[index],
        )
