"""The constant of the bias: b(E) is known up to one, and an anchor says where it is zero."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from proxycal.methods.gradual.basis import TRUSTED
from proxycal.methods.gradual.moments import sum_by_code
from proxycal.methods.gradual.thresholds import ANCHOR_ROWS, LEAST_BIASED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.methods.gradual.basis import Basis
    from proxycal.methods.gradual.rows import Pieces, Rows

    Array = NDArray[np.float64]

AnchorKind = Literal["validated rows", "trusted rows", "the least biased tenth"]
# Bins in which the sizes of the rows are counted, to find the tenth without sorting rows that are elsewhere.
BINS = 1 << 16


@dataclass(frozen=True, slots=True)
class Anchor:
    """bias(E) = (B(E) - reference)'b + offset.

    reference : (q,) mean basis row of the reference rows; offset : their known mean bias
    offset_var, offset_df : its sampling variance and degrees of freedom
    count : reference rows; threshold : B(E)'b below which a row is one, where the least biased are
    """

    kind: AnchorKind
    reference: Array
    offset: float
    offset_var: float
    offset_df: float
    count: int
    threshold: float = float("nan")

    def holds(self, rows: Rows, size: Array) -> NDArray[np.bool_]:
        """(n,) which rows are the reference; size : (n,) their B(E)'b."""
        if self.kind == "validated rows":
            return rows.validated
        if self.kind == "trusted rows":
            return np.asarray(rows.columns[TRUSTED] == 1.0)
        return size <= self.threshold


@dataclass(frozen=True, slots=True)
class Validated:
    """Validated rows of some pieces, which are put one after the other when they are added.

    basis : (m, q); error : (m,) report less truth; mass, cluster : (m,)
    """

    basis: Array
    error: Array
    mass: Array
    cluster: NDArray[np.int64] | None

    def __add__(self, other: Validated) -> Validated:
        return Validated(
            np.vstack([self.basis, other.basis]),
            np.append(self.error, other.error),
            np.append(self.mass, other.mass),
            None,
        )

    @property
    def reference(self) -> Array:
        """(q,) mean basis row."""
        return np.asarray(np.average(self.basis, axis=0, weights=self.mass))

    def anchor(self, coefficients: Array) -> Anchor:
        """The mean error of the rows is their mean bias."""
        left = self.error - self.basis @ coefficients
        variance, df = _mean_variance(left, self.mass, self.cluster)
        offset = float(np.average(self.error, weights=self.mass))
        return Anchor("validated rows", self.reference, offset, variance, df, len(self.error))


def gather_validated(pieces: Pieces, basis: Basis) -> Validated:
    """The validated rows of all pieces that are not trusted: of those the error is known beforehand."""
    return pieces.add_up(partial(_validated, basis))


def choose_anchor(
    pieces: Pieces, basis: Basis, coefficients: Array, validated: Validated | None, ends: tuple[float, float]
) -> Anchor:
    """Trusted rows where there are some, else validated rows, else the tenth with the least bias upward.

    The basis of trusted rows is zero, so that with them b(E) has no unknown constant. ends : between which
    the sizes B(E)'b of nearly all rows lie.
    """
    if basis.trusted:
        count = pieces.add_up(_count_trusted)
        return Anchor("trusted rows", np.zeros(len(coefficients)), 0.0, 0.0, np.inf, count)
    if validated is not None and len(validated.error) >= ANCHOR_ROWS:
        return validated.anchor(coefficients)
    edges = np.linspace(*ends, BINS + 1) if ends[1] > ends[0] else np.array([ends[0], ends[0] + 1.0])
    mass = np.cumsum(pieces.add_up(partial(_histogram, basis, coefficients, edges)))
    threshold = float(edges[1 + int(np.searchsorted(mass, LEAST_BIASED * mass[-1]))])
    found = pieces.add_up(partial(_below, basis, coefficients, threshold))
    reference, count = found[1:-1] / found[0], int(found[-1])
    return Anchor("the least biased tenth", reference, 0.0, 0.0, np.inf, count, threshold)


def _validated(basis: Basis, rows: Rows) -> Validated:
    known = rows.validated
    if basis.trusted:
        known = known & (rows.columns[TRUSTED] != 1.0)
    truth = np.zeros(0) if rows.truth is None else rows.truth[known]
    part = basis.transform({name: values[known] for name, values in rows.columns.items()})
    cluster = None if rows.cluster is None else rows.cluster[known]
    return Validated(part, rows.outcome[known] - truth, rows.mass[known], cluster)


def _count_trusted(rows: Rows) -> int:
    return int((rows.columns[TRUSTED] == 1.0).sum())


def _histogram(basis: Basis, coefficients: Array, edges: Array, rows: Rows) -> Array:
    """(BINS,) weight of the rows by size; what lies beyond the ends is in the outer bins."""
    size = rows.on(basis) @ coefficients
    place = np.clip(np.searchsorted(edges, size, side="left") - 1, 0, len(edges) - 2)
    return np.asarray(np.bincount(place, weights=rows.mass, minlength=len(edges) - 1), dtype=float)


def _below(basis: Basis, coefficients: Array, threshold: float, rows: Rows) -> Array:
    """(q + 2,) weight, weighted sum of basis rows, and number of the rows at or below the threshold."""
    part = rows.on(basis)
    own = part @ coefficients <= threshold
    mass = rows.mass[own]
    return np.concatenate([[mass.sum()], mass @ part[own], [own.sum()]])


def _mean_variance(values: Array, mass: Array, cluster: NDArray[np.int64] | None) -> tuple[float, float]:
    """Variance of a weighted mean, by cluster, and its degrees of freedom."""
    scores = (mass * (values - np.average(values, weights=mass)))[:, None] / mass.sum()
    if cluster is not None:
        scores = sum_by_code(cluster, scores)[1]
    units = len(scores)
    if units < 2:
        return float("inf"), 1.0
    return float((scores**2).sum()) * units / (units - 1), float(units - 1)
