"""A wider world by name, and one table drawn from it beside its truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from numpy.typing import NDArray

    from proxycal.table.roles import Roles

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class DrawnWorld:
    """A table as an analyst would get it, and what the analyst never sees.

    table, roles, direction : what is handed to a fit
    y_true (n,) : the outcome without the bias, on the same scale (rounded, capped, ...) as the reported one
    a (n,) bool : who is biased
    bias (n,) : signed, what the report adds before it is rounded or capped; 0 where unbiased
    residual_sd : sd of what proxies and lines of the environment leave of the true outcome, without what
        declared clusters share
    """

    table: pd.DataFrame
    roles: Roles
    direction: Literal["over", "under"]
    y_true: Array
    a: NDArray[np.bool_]
    bias: Array
    residual_sd: float

    @property
    def y(self) -> Array:
        """The reported outcome (n,)."""
        values: Array = self.table[self.roles.outcome].to_numpy(dtype=float)
        return values

    @property
    def alpha(self) -> float:
        """The mean size of the bias among the biased; 0 where nobody is."""
        return float(np.abs(self.bias[self.a]).mean()) if self.a.any() else 0.0


@dataclass(frozen=True, slots=True)
class WiderWorld:
    """A kind of data with a known answer, outside or at the edge of what the exact method assumes.

    name, family, about : what it is called, its kind, and one line on how it is made
    generator : (seed, n) -> DrawnWorld; the same seed gives the same table
    n : rows it is tried with by default
    size_sd : mean size of the bias among the biased, in residual sds; 0 without a bias
    share : share of biased rows among those that can be (zeros may be immune)
    hard : whether "not identified" is a fair answer to a bias of this kind
    undecidable : whether no data could tell the truth of this world from another
    """

    name: str
    family: str
    about: str
    generator: Callable[[int, int], DrawnWorld]
    n: int = 1000
    direction: Literal["over", "under"] = "over"
    size_sd: float = 0.0
    share: float = 0.0
    hard: bool = False
    undecidable: bool = False

    @property
    def has_bias(self) -> bool:
        """Whether any row is biased."""
        return self.size_sd > 0.0

    @property
    def findable(self) -> bool:
        """Whether a good method finds the bias in nearly every table."""
        return self.has_bias and not self.hard and not self.undecidable

    def draw(self, seed: int, n: int | None = None) -> DrawnWorld:
        """One table, of `n` rows or as many as the world is tried with by default."""
        return self.generator(seed, self.n if n is None else n)
