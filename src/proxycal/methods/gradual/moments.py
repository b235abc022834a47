"""What the rows say, in sums that add up over pieces: means, cross-products, and scores by cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg, sparse

from proxycal.errors import TableError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# A basis column of which less than this share of its variance is left beside the others repeats them.
REPEATED = 1e-8
# Rows handled at a time: a score has some hundreds of entries.
CHUNK = 4_096
# Share of a direction of the basis that must be left of it without a cluster, to be blown up by it.
LEAST_LEFT = 0.05


@dataclass(frozen=True, slots=True)
class Moments:
    """Weighted mean and scatter of (B(E), P, y), additive over pieces of the table.

    rows, weight, weight_sq : number of rows, sum of weights, sum of squared weights
    mean : (q + K + 1,); scatter : (q + K + 1, q + K + 1) about the mean
    width : q, the number of basis columns
    """

    rows: int
    weight: float
    weight_sq: float
    mean: Array
    scatter: Array
    width: int

    def __add__(self, other: Moments) -> Moments:
        # Means are merged before products are (Chan, Golub and LeVeque): raw sums of squares would lose the
        # digits of a column whose mean is far from zero.
        weight = self.weight + other.weight
        gap = other.mean - self.mean
        return Moments(
            self.rows + other.rows,
            weight,
            self.weight_sq + other.weight_sq,
            self.mean + gap * (other.weight / weight),
            self.scatter + other.scatter + np.outer(gap, gap) * (self.weight * other.weight / weight),
            self.width,
        )

    def without(self, dropped: NDArray[np.bool_]) -> Moments:
        """The same without some of the basis columns, dropped (q,)."""
        kept = np.append(~dropped, np.ones(len(self.mean) - self.width, dtype=bool))
        return replace(
            self, mean=self.mean[kept], scatter=self.scatter[np.ix_(kept, kept)], width=int((~dropped).sum())
        )

    @property
    def n_kish(self) -> float:
        """Rows that equal weights would need for the same precision of a mean."""
        return self.weight**2 / self.weight_sq


def row_moments(basis: Array, proxies: Array, outcome: Array, weights: Array | None = None) -> Moments:
    """Moments of these rows. basis (n, q), proxies (n, K), outcome (n,), weights (n,) or None."""
    values = np.column_stack([basis, proxies, outcome])
    mass = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=float)
    total = float(mass.sum())
    if not total > 0.0:
        raise TableError("the weights of these rows sum to zero: leave out rows without weight")
    mean = mass @ values / total
    centred = values - mean
    scatter = centred.T @ (centred * mass[:, None])
    return Moments(len(values), total, float(mass @ mass), mean, scatter, basis.shape[1])


def repeated_columns(moments: Moments) -> NDArray[np.bool_]:
    """(q,) mask of basis columns that those before them already span: constants and copies."""
    gram = moments.scatter[: moments.width, : moments.width].copy()
    size = np.diag(gram).copy()
    repeated = np.zeros(moments.width, dtype=bool)
    for j in range(moments.width):
        if size[j] <= 0.0 or gram[j, j] <= REPEATED * size[j]:
            repeated[j] = True
            continue
        column = gram[:, j] / gram[j, j]
        gram -= np.outer(column, gram[j])
    return repeated


@dataclass(frozen=True, slots=True)
class Reduced:
    """The reduced form: (P, y) on B(E), in units in which nothing has a scale.

    With X = (B - center) @ whiten, whose covariance is the identity, and Y = ((P, y) - mean) / scale:
    slopes : (K + 1, q) of Y on X; resid : (K + 1, K + 1) covariance of what is left, with unit diagonal.
    The outcome is the last row of both.
    """

    slopes: Array
    resid: Array
    center: Array
    whiten: Array
    mean: Array
    scale: Array
    rows: int
    weight: float
    n_kish: float

    def regressors(self, basis: Array) -> Array:
        """(n, q) whitened basis columns."""
        return (basis - self.center) @ self.whiten


def reduce(moments: Moments) -> Reduced:
    """Least squares of every proxy and the outcome on the basis, from the moments alone."""
    q = moments.width
    cov = moments.scatter / moments.weight
    root = linalg.cholesky(cov[:q, :q], lower=True)
    whiten = linalg.solve_triangular(root, np.eye(q), lower=True).T
    slopes = cov[q:, :q] @ whiten
    left = cov[q:, q:] - slopes @ slopes.T
    variance = np.diag(left)
    if (variance <= 1e-12 * np.diag(cov)[q:]).any():
        raise TableError(
            "the environment determines a proxy or the outcome exactly: nothing is left to compare; "
            "leave out the environment column that repeats it"
        )
    scale = np.sqrt(variance)
    return Reduced(
        slopes=slopes / scale[:, None],
        resid=left / np.outer(scale, scale),
        center=moments.mean[:q],
        whiten=whiten,
        mean=moments.mean[q:],
        scale=scale,
        rows=moments.rows,
        weight=moments.weight,
        n_kish=moments.n_kish,
    )


@dataclass(frozen=True, slots=True)
class ScoreSums:
    """Sums of outer products of the influence of units on (slopes, resid); additive over pieces.

    rows, count : rows, and independent units among them (clusters, or rows); clustered : which of the two
    outer : (p, p)
    """

    rows: int
    count: int
    clustered: bool
    outer: Array

    def __add__(self, other: ScoreSums) -> ScoreSums:
        if self.clustered or other.clustered:
            raise TableError("clusters need the whole table in memory, since their rows may be anywhere")
        return ScoreSums(self.rows + other.rows, self.count + other.count, False, self.outer + other.outer)

    def covariance(self, weight: float, lost: int) -> Array:
        """(p, p) sampling covariance of (slopes, resid).

        weight : sum of weights of the whole table; lost : coefficients of the equation, constant included.
        The correction for rows is that of HC1; the influence of clusters is that of leaving them out (CR3),
        which needs none.
        """
        correction = (self.count - 1) / self.count if self.clustered else self.rows / max(self.rows - lost, 1)
        return self.outer / weight**2 * correction


def score_sums(
    reduced: Reduced,
    basis: Array,
    proxies: Array,
    outcome: Array,
    weights: Array | None = None,
    cluster: NDArray[np.int64] | None = None,
) -> ScoreSums:
    """Influence of these rows under the reduced form of the whole table (the second pass)."""
    if cluster is not None:
        sums = cluster_influence(reduced, basis, np.column_stack([proxies, outcome]), weights, cluster)
        return ScoreSums(len(outcome), len(sums), True, sums.T @ sums)
    width = reduced.slopes.size + len(reduced.scale) * (len(reduced.scale) + 1) // 2
    outer = np.zeros((width, width))
    for start in range(0, len(outcome), CHUNK):
        part = slice(start, start + CHUNK)
        scores = _scores(reduced, basis[part], np.column_stack([proxies[part], outcome[part]]))
        if weights is not None:
            scores *= weights[part][:, None]
        outer += scores.T @ scores
    return ScoreSums(len(outcome), len(outcome), False, outer)


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
    x = np.column_stack([np.ones(len(values)), reduced.regressors(basis)])
    left = (values - reduced.mean) / reduced.scale - x[:, 1:] @ reduced.slopes.T
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


def _scores(reduced: Reduced, basis: Array, values: Array) -> Array:
    regressors = reduced.regressors(basis)
    left = (values - reduced.mean) / reduced.scale - regressors @ reduced.slopes.T
    (n, k1), width = left.shape, regressors.shape[1]
    i, j = np.tril_indices(k1)
    # In place: the scores of all rows are many times as large as the rows.
    scores = np.empty((n, k1 * width + len(i)))
    for outcome in range(k1):
        at = slice(outcome * width, (outcome + 1) * width)
        np.multiply(left[:, outcome, None], regressors, out=scores[:, at])
    scores[:, k1 * width :] = left[:, i] * left[:, j] - reduced.resid[i, j]
    return scores


def sum_by_code(codes: NDArray[np.int64], values: Array) -> tuple[NDArray[np.int64], Array]:
    """Rows of `values` summed by code, codes in ascending order."""
    unique, index = np.unique(codes, return_inverse=True)
    rows = len(codes)
    add = sparse.csr_matrix((np.ones(rows), (index, np.arange(rows))), shape=(len(unique), rows))
    return unique, np.asarray(add @ values)
