"""The models that are compared, the view of the outcome that each fits, and the answer of the comparison."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from proxycal.mixture.criterion import Model
    from proxycal.mixture.designs import Chunks, Data, Frame, Spec

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fitted model with its features (frame) and the view of the outcome that it was fitted to."""

    frame: Frame
    model: Model
    view: View

    @property
    def bic(self) -> float:
        """BIC with what the view paid for its cluster intercepts."""
        return self.model.bic - 2.0 * self.view.cost

    @property
    def claims_bias(self) -> bool:
        """Whether the model is an alternative, with a bias that E drives, and no null model."""
        return self.model.shape.claims_bias


@dataclass(frozen=True, slots=True)
class View:
    """The outcome as models with a bias, or those without, see it: their own cluster intercepts removed.

    offset (n,), outcome's units, zero without clusters; tau: sd of the intercepts; cost: log likelihood paid.
    """

    offset: Array
    tau: float = 0.0
    cost: float = 0.0

    def of(self, data: Data, index: NDArray[np.intp] | None = None) -> Data:
        """The rows as they are fitted; index : some of them, in their order."""
        whole = replace(data, y=data.y - self.offset) if self.offset.any() else data
        return whole if index is None or len(index) == len(data.y) else whole.take(index)


class CandidateRows:
    """The rows of a table, or a part of them, as each candidate sees them.

    The features of the last frame are kept: most candidates share the frame of the best one, and to form
    features takes as long as a few passes over them.
    """

    def __init__(self, data: Data, part: NDArray[np.intp] | None = None) -> None:
        self._data, self._part = data, part
        self._last: tuple[Frame, View, Chunks] | None = None

    def of(self, candidate: Candidate) -> Chunks:
        """The rows in the features of a candidate."""
        frame, view = candidate.frame, candidate.view
        if self._last is None or self._last[0] is not frame or self._last[1] is not view:
            self._last = None
            self._last = frame, view, frame.chunks(view.of(self._data, self._part))
        return self._last[2]


@dataclass(frozen=True, slots=True)
class ExactBias:
    """The answer of the comparison, fitted to all rows.

    bias, null: the best model with and without a bias; gain: BIC(null) - BIC(bias); shift (L,), shift_cov
    (L,L): coefficients of the shift, in the outcome's units; gate_cov: of pi(E) in the frame's gate features;
    cov (m,m): of all parameters of the bias model, in the frame's units; sigma: residual sd, cluster_sd: sd
    of the cluster intercepts; share: mean of P(A=1|data); where_biased (L,): mean of the shift's features
    over the biased; decrement: log likelihood left to gain; floor: least width of a component; candidates:
    all models compared, best first; n_compared: rows they were compared on; labels: of bias and null, in
    words; sizes: (BIC, alpha) of every model with a bias of one size; by_level_gain: BIC gain of a size by
    level, NaN where not tried; offset (n,): cluster intercepts by row, outcome's units, in the caller's
    order; undecided: models that could be the best of more rows, of which these are a sample.
    """

    bias: Spec
    null: Spec
    gain: float
    shift: Array
    shift_cov: Array
    gate_cov: Array
    cov: Array
    sigma: float
    cluster_sd: float
    share: float
    where_biased: Array
    converged: bool
    decrement: float
    floor: float
    offset: Array
    n_compared: int
    labels: tuple[str, str]
    sizes: tuple[tuple[float, float], ...]
    by_level_gain: float
    candidates: tuple[Candidate, ...]
    undecided: tuple[Candidate, ...] = ()
