"""Who runs in the race of models, on which view of the outcome, and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from proxycal.mixture.designs import Data, Frame, Spec
    from proxycal.mixture.select import Entrant

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Runner:
    """An entrant of the race, the frame it ran in, and the side of the data it saw."""

    frame: Frame
    entrant: Entrant
    side: Side

    @property
    def bic(self) -> float:
        """BIC with what the side paid for its cluster intercepts."""
        return self.entrant.bic - 2.0 * self.side.cost


@dataclass(frozen=True, slots=True)
class Side:
    """The outcome as one side of the race sees it: its own cluster intercepts removed.

    offset (n,), outcome's units, zero without clusters; tau: sd of the intercepts; cost: log likelihood paid.
    """

    offset: Array
    tau: float = 0.0
    cost: float = 0.0

    def of(self, data: Data, index: NDArray[np.intp] | None = None) -> Data:
        """The rows this side fits."""
        truth = None if data.truth is None else data.truth - self.offset
        whole = replace(data, y=data.y - self.offset, truth=truth)
        return whole if index is None else whole.take(index)


@dataclass(frozen=True, slots=True)
class ExactBias:
    """The answer of the race, fitted to all rows.

    bias, null: the best model with and without a bias; gain: BIC(null) - BIC(bias); shift (L,), shift_cov
    (L,L): coefficients of the shift, in the outcome's units; gate_cov: of pi(E) in the frame's gate features;
    sigma: residual sd, cluster_sd: sd of the cluster intercepts; share: mean of P(A=1|data);
    where_biased (L,): mean of the shift's features over the biased; decrement: log
    likelihood left to gain; floor: least width of a regression in the race; runners: all of it, best first;
    n_race: rows it ran on; labels: of bias and null, in words; sizes: (BIC, alpha) of every model with a bias
    of one size; by_level_gain: BIC gain of a size by level, NaN where not tried; offset (n,): each row's
    cluster intercept, outcome's units, in the caller's order; finalists: models that could be the best of
    more rows, of which these are a sample.
    """

    bias: Spec
    null: Spec
    gain: float
    shift: Array
    shift_cov: Array
    gate_cov: Array
    sigma: float
    cluster_sd: float
    share: float
    where_biased: Array
    converged: bool
    decrement: float
    floor: float
    offset: Array
    n_race: int
    labels: tuple[str, str]
    sizes: tuple[tuple[float, float], ...]
    by_level_gain: float
    runners: tuple[Runner, ...]
    finalists: tuple[Runner, ...] = ()
