"""What each row or cluster moves the reduced form by, and the sampling error that follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from proxycal.errors import TableError
from proxycal.methods.gradual.sampling import RowSampling, SummedSampling

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.methods.gradual.moments import Reduced

    Array = NDArray[np.float64]

# Rows handled at a time: a score has some hundreds of entries.
CHUNK = 4_096
# Share of a direction of the basis that must be left of it without a cluster, to be blown up by it.
LEAST_LEFT = 0.05
# Entries of C that cost as much as a pair of rows does, in which rows are as fast as sums.
ENTRIES_OF_PAIR = 500


@dataclass(frozen=True, slots=True)
class ScoreSums:
    """Sums of outer products of the influence of units on (slopes, resid); additive over pieces.

    rows, count : rows, and independent units among them (clusters, or rows); clustered : which of the two
    outer : (p, p); width : q, the number of basis columns
    """

    rows: int
    count: int
    clustered: bool
    outer: Array
    width: int

    def __add__(self, other: ScoreSums) -> ScoreSums:
        if self.clustered or other.clustered:
            raise TableError("clusters need the whole table in memory, since their rows may be anywhere")
        count, outer = self.count + other.count, self.outer + other.outer
        return ScoreSums(self.rows + other.rows, count, False, outer, self.width)

    def sampling(self, weight: float, lost: int) -> SummedSampling:
        """The sampling error of (slopes, resid).

        weight : sum of weights of the whole table; lost : coefficients of the equation, constant included.
        The correction for rows is that of HC1; the influence of clusters is that of leaving them out (CR3),
        which needs none.
        """
        correction = (self.count - 1) / self.count if self.clustered else _for_lost(self.rows, lost)
        return SummedSampling(self.outer / weight**2 * correction, self.width)


@dataclass(frozen=True, slots=True)
class RowScores:
    """The rows of a whole table, of which the influence follows: left (n, K + 1), regressors (n, q)."""

    left: Array
    regressors: Array
    mass: Array
    resid: Array
    clustered: bool = False

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.left)

    def sampling(self, weight: float, lost: int) -> RowSampling:
        """The sampling error of (slopes, resid), with the same correction."""
        mass = self.mass * (np.sqrt(_for_lost(self.count, lost)) / weight)
        return RowSampling(self.left, self.regressors, mass, self.resid)


Scores = ScoreSums | RowScores


def _for_lost(rows: int, lost: int) -> float:
    return rows / max(rows - lost, 1)


def few_rows(reduced: Reduced) -> bool:
    """Whether the rows of a whole table say sooner than sums of their scores what is asked of either."""
    return reduced.rows <= min(CHUNK, entries(reduced) ** 2 // ENTRIES_OF_PAIR)


def entries(reduced: Reduced) -> int:
    """p, the length of (slopes, lower triangle of resid)."""
    k1 = len(reduced.scale)
    return reduced.slopes.size + k1 * (k1 + 1) // 2


def row_scores(
    reduced: Reduced, basis: Array, proxies: Array, outcome: Array, weights: Array | None = None
) -> RowScores:
    """The rows of a whole table, under its reduced form."""
    regressors, left = _residuals(reduced, basis, np.column_stack([proxies, outcome]))
    return RowScores(left, regressors, np.ones(len(left)) if weights is None else weights, reduced.resid)


def score_sums(
    reduced: Reduced,
    basis: Array,
    proxies: Array,
    outcome: Array,
    weights: Array | None = None,
    cluster: NDArray[np.int64] | None = None,
) -> ScoreSums:
    """Influence of these rows under the reduced form of the whole table (the second pass)."""
    width = reduced.slopes.shape[1]
    if cluster is not None:
        sums = cluster_influence(reduced, basis, np.column_stack([proxies, outcome]), weights, cluster)
        return ScoreSums(len(outcome), len(sums), True, sums.T @ sums, width)
    outer = np.zeros((entries(reduced), entries(reduced)))
    for start in range(0, len(outcome), CHUNK):
        part = slice(start, start + CHUNK)
        scores = _scores(reduced, basis[part], np.column_stack([proxies[part], outcome[part]]))
        if weights is not None:
            scores *= weights[part][:, None]
        outer += scores.T @ scores
    return ScoreSums(len(outcome), len(outcome), False, outer, width)


def cluster_influence(
    reduced: Reduced, basis: Array, values: Array, weights: Array | None, cluster: NDArray[np.int64]
) -> Array:
    """(G, p) what each cluster moves (slopes, resid) by, times the weight of the table.

    Sums of scores would be too small: a cluster draws the fit towards itself. In whitened regressors x the
    share of the fit that is its own is M = sum w x x' / W. With it left out the slopes move by (I - M)^-1 s,
    s = sum w x r', and the cross-products of residuals by sum w r r' + s' (I - M)^-1 s / W (CR3 of Bell and
    McCaffrey 2002).
    """
    mass = np.ones(len(values)) if weights is None else weights
    regressors, left = _residuals(reduced, basis, values)
    x = np.column_stack([np.ones(len(values)), regressors])
    order = np.argsort(cluster, kind="stable")
    first = np.unique(cluster[order], return_index=True)[1]
    i, j = np.tril_indices(left.shape[1])
    rows = []
    for own in np.split(order, first[1:]):
        # Weighted, and over the root of the table's weight: then M = x'x and s = x'r.
        root = np.sqrt(mass[own] / reduced.weight)[:, None]
        score, moved = _left_out(x[own] * root, left[own] * (root * reduced.weight))
        products = (left[own] * mass[own, None]).T @ left[own] + score.T @ moved / reduced.weight
        products -= mass[own].sum() * reduced.resid
        rows.append(np.append(moved[1:].T.ravel(), products[i, j]))
    return np.array(rows)


def _left_out(x: Array, left: Array) -> tuple[Array, Array]:
    """Scores s = x'r and (I - x'x)^-1 s, for regressors x (m, r) and residuals r (m, K + 1) of a cluster."""
    # x has no more directions than the cluster has rows, and mostly those are few.
    by_row, sizes, directions = np.linalg.svd(x, full_matrices=False)
    along = sizes[:, None] * (by_row.T @ left)
    # A direction that only this cluster has is not there without it: its score is zero then.
    blown_up = along / np.maximum(1.0 - sizes**2, LEAST_LEFT)[:, None]
    return directions.T @ along, directions.T @ blown_up


def _residuals(reduced: Reduced, basis: Array, values: Array) -> tuple[Array, Array]:
    """(n, q) whitened basis columns, and (n, K + 1) what they leave of the proxies and the outcome."""
    regressors = reduced.regressors(basis)
    return regressors, (values - reduced.mean) / reduced.scale - regressors @ reduced.slopes.T


def _scores(reduced: Reduced, basis: Array, values: Array) -> Array:
    regressors, left = _residuals(reduced, basis, values)
    (n, k1), width = left.shape, regressors.shape[1]
    i, j = np.tril_indices(k1)
    # In place: the scores of all rows are many times as large as the rows.
    scores = np.empty((n, k1 * width + len(i)))
    for outcome in range(k1):
        at = slice(outcome * width, (outcome + 1) * width)
        np.multiply(left[:, outcome, None], regressors, out=scores[:, at])
    scores[:, k1 * width :] = left[:, i] * left[:, j] - reduced.resid[i, j]
    return scores
