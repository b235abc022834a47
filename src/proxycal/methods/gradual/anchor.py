"""The constant of the bias: b(E) is known up to one, and an anchor says where it is zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from proxycal.methods.gradual.basis import weighted_quantile
from proxycal.methods.gradual.moments import sum_by_code
from proxycal.methods.gradual.thresholds import ANCHOR_ROWS, LEAST_BIASED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

AnchorKind = Literal["validated rows", "trusted rows", "the least biased tenth"]


@dataclass(frozen=True, slots=True)
class Anchor:
    """bias(E) = (B(E) - reference)'b + offset.

    reference : (q,) mean basis row of the reference rows; offset : their known mean bias
    offset_var, offset_df : its sampling variance and degrees of freedom
    rows : (n,) mask of the reference rows
    """

    kind: AnchorKind
    reference: Array
    offset: float
    offset_var: float
    offset_df: float
    rows: NDArray[np.bool_]


def choose_anchor(
    basis: Array,
    coefficients: Array,
    outcome: Array,
    weights: Array | None = None,
    cluster: NDArray[np.int64] | None = None,
    trusted: NDArray[np.bool_] | None = None,
    truth: Array | None = None,
) -> Anchor:
    """Validated rows where there are enough, else trusted rows, else the tenth with the least bias upward."""
    mass = np.ones(len(outcome)) if weights is None else weights
    if truth is not None and int(np.isfinite(truth).sum()) >= ANCHOR_ROWS:
        rows = np.isfinite(truth)
        error = outcome[rows] - truth[rows]
        left = error - basis[rows] @ coefficients
        offset_var, df = _mean_variance(left, mass[rows], None if cluster is None else cluster[rows])
        reference = np.average(basis[rows], axis=0, weights=mass[rows])
        offset = float(np.average(error, weights=mass[rows]))
        return Anchor("validated rows", reference, offset, offset_var, df, rows)
    if trusted is not None and int(trusted.sum()) >= ANCHOR_ROWS:
        kind: AnchorKind = "trusted rows"
        rows = np.asarray(trusted, dtype=bool)
    else:
        kind = "the least biased tenth"
        size = basis @ coefficients
        rows = size <= weighted_quantile(size, np.array([LEAST_BIASED]), weights)[0]
    reference = np.average(basis[rows], axis=0, weights=mass[rows])
    return Anchor(kind, reference, 0.0, 0.0, np.inf, rows)


def _mean_variance(values: Array, mass: Array, cluster: NDArray[np.int64] | None) -> tuple[float, float]:
    """Variance of a weighted mean, by cluster, and its degrees of freedom."""
    scores = (mass * (values - np.average(values, weights=mass)))[:, None] / mass.sum()
    if cluster is not None:
        scores = sum_by_code(cluster, scores)[1]
    units = len(scores)
    if units < 2:
        return float("inf"), 1.0
    return float((scores**2).sum()) * units / (units - 1), float(units - 1)
