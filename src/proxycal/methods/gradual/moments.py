"""What the rows say, in sums that add up over pieces: means and cross-products."""

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


def sum_by_code(codes: NDArray[np.int64], values: Array) -> tuple[NDArray[np.int64], Array]:
    """Rows of `values` summed by code, codes in ascending order."""
    unique, index = np.unique(codes, return_inverse=True)
    rows = len(codes)
    add = sparse.csr_matrix((np.ones(rows), (index, np.arange(rows))), shape=(len(unique), rows))
    return unique, np.asarray(add @ values)
