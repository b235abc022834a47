"""The rows of a table as the gradual method sees them, and the pieces in which it may come."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from proxycal.methods.gradual.basis import Basis

    Array = NDArray[np.float64]

# A record with `+`.
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a table, the bias upward.

    outcome : (n,) reports; proxies : (n, K)
    columns : environment columns by name, (n,) each, categories as codes; TRUSTED among them where rows are
    weights : (n,) sampling weights of any unit; cluster : (n,) codes of rows that belong together
    truth : (n,) the true value where it was validated, else NaN
    """

    outcome: Array
    proxies: Array
    columns: Mapping[str, Array]
    weights: Array | None = None
    cluster: NDArray[np.int64] | None = None
    truth: Array | None = None
    _formed: list[tuple[object, Array]] = field(default_factory=list, repr=False, compare=False)

    def on(self, basis: Basis) -> Array:
        """(n, q) basis columns of these rows; those of the last terms are kept."""
        if not self._formed or self._formed[0][0] is not basis.terms:
            self._formed[:] = [(basis.terms, basis.raw(self.columns))]
        raw = self._formed[0][1]
        return raw if basis.keep.all() else raw[:, basis.keep]

    @property
    def mass(self) -> Array:
        """(n,) weights, ones where there are none."""
        return np.ones(len(self.outcome)) if self.weights is None else self.weights

    @property
    def validated(self) -> NDArray[np.bool_]:
        """(n,) True where the truth is known."""
        return np.zeros(len(self.outcome), dtype=bool) if self.truth is None else np.isfinite(self.truth)


class Pieces(Protocol):
    """A table in pieces; functions that go to them are picklable, and what they make of a piece adds up."""

    def add_up(self, function: Callable[[Rows], R]) -> R:
        """The sum of what the function makes of every piece."""


@dataclass(frozen=True, slots=True)
class OnePiece:
    """A table in memory."""

    rows: Rows

    def add_up(self, function: Callable[[Rows], R]) -> R:
        """What the function makes of all rows."""
        return function(self.rows)
