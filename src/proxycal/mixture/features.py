"""Content and gate features: which columns, linear or splined, made orthonormal on the training rows.

Orthonormal columns make the fit invariant to any affine map of the inputs, keep every Gram matrix well
conditioned, and drop collinear columns without a word being needed about which of them "caused" it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from scipy.interpolate import BSpline

    Array = NDArray[np.float64]
    # Of each column the knots of its spline, or None.
    Knots = Sequence[tuple[float, ...] | None]

N_KNOTS, DEGREE = 4, 3
# A column is splined only where it has enough distinct values to show a curve.
MIN_DISTINCT = 12
# Part of a column that must be left beside the others for normal equations to tell it from them.
TOLD_APART = 1e-3


@dataclass(frozen=True, slots=True)
class Basis:
    """Columns -> orthonormal features, with an intercept first.

    knots: per input column its spline knots, or None where it enters linearly; centre (m,) and rotate (m,
    k): features = [1, (columns - centre) @ rotate], weighted mean 0 and covariance I; products: pairs of
    input columns whose product is a further column, each taken from its middle (inputs,).
    """

    knots: tuple[tuple[float, ...] | None, ...]
    centre: Array
    rotate: Array
    products: tuple[tuple[int, int], ...] = ()
    middle: Array | None = None

    def __call__(self, columns: Array) -> Array:
        """Features of new rows, (n, 1 + k)."""
        expanded = _expanded(columns, self.knots)
        if self.middle is not None:
            expanded = np.hstack([expanded, products_of(columns - self.middle, self.products)])
        return self.rotated(expanded)

    def rotated(self, expanded: Array) -> Array:
        """Features of columns that are expanded already."""
        return np.column_stack([np.ones(len(expanded)), (expanded - self.centre) @ self.rotate])

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """JSON values and arrays that rebuild it."""
        values = {
            "knots": [k and list(k) for k in self.knots],
            "products": [list(pair) for pair in self.products],
        }
        arrays = {"centre": self.centre, "rotate": self.rotate}
        return values, arrays if self.middle is None else arrays | {"middle": self.middle}

    @classmethod
    def from_state(cls, json: dict[str, Any], arrays: dict[str, Array]) -> Basis:
        """The inverse of `state`."""
        knots = tuple(None if k is None else tuple(k) for k in json["knots"])
        products = tuple((int(i), int(j)) for i, j in json["products"])
        return cls(knots, arrays["centre"], arrays["rotate"], products, arrays.get("middle"))


def weighted_quantile(values: Array, weights: Array, q: Array) -> Array:
    """Quantiles in which a row of weight w counts as w rows."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    at = np.searchsorted(reached, np.asarray(q) * reached[-1] * (1.0 - 1e-12), side="left")
    return np.asarray(values[order][np.minimum(at, len(values) - 1)])


def weighted_rank(values: Array, weights: Array) -> Array:
    """Share of the weight below each value, ties in the middle: (n,) between 0 and 1."""
    distinct, where = np.unique(values, return_inverse=True)
    mass = np.bincount(where, weights=weights, minlength=len(distinct))
    return np.asarray(((np.cumsum(mass) - 0.5 * mass) / mass.sum())[where])


def spline_knots(column: Array, weights: Array) -> tuple[float, ...] | None:
    """Knots at quantiles, or None where the column is too coarse for a curve."""
    values = np.sort(column)
    if 1 + np.count_nonzero(values[1:] != values[:-1]) < MIN_DISTINCT:
        return None
    shares = np.linspace(0.0, 1.0, N_KNOTS)
    if (weights == 1.0).all():
        knots = values[np.maximum(np.ceil(shares * len(values) * (1.0 - 1e-12)).astype(int) - 1, 0)]
    else:
        knots = weighted_quantile(column, weights, shares)
    knots = np.unique(knots)
    return tuple(knots.tolist()) if len(knots) == N_KNOTS else None


def knots_of(columns: Array, splined: NDArray[np.bool_], weights: Array) -> Knots:
    """Of each flagged column the knots it gets."""
    return [spline_knots(c, weights) if s else None for c, s in zip(columns.T, splined, strict=True)]


def fit_basis(columns: Array, splined: NDArray[np.bool_], weights: Array) -> Basis:
    """Orthonormal features of the columns, the flagged ones as cubic splines with linear tails."""
    return fit_splines(columns, knots_of(columns, splined, weights), weights)


def fit_splines(columns: Array, knots: Knots, weights: Array) -> Basis:
    """The same with given knots."""
    return replace(orthonormal(_expanded(columns, knots), weights), knots=tuple(knots))


def bends(column: Array, knots: Sequence[float]) -> Array:
    """(n, k) what a column (n,) and its cubic spline with knots (k,) span beyond the column, between them.

    Powers and powers beyond each inner knot: to judge by, since they are made in a tenth of the time that
    B-splines take.
    """
    middle, half = 0.5 * (knots[0] + knots[-1]), 0.5 * (knots[-1] - knots[0])
    u = (column - middle) / half
    beyond = [np.maximum(u - (knot - middle) / half, 0.0) for knot in knots[1:-1]]
    return np.column_stack([u * u, u * u * u, *(x * x * x for x in beyond)])


def products_of(columns: Array, pairs: Sequence[tuple[int, int]]) -> Array:
    """The product of each pair of columns, (n, pairs)."""
    if not pairs:
        return np.empty((len(columns), 0))
    first, second = np.array(pairs).T
    return np.asarray(columns[:, first] * columns[:, second])


def fit_products(columns: Array, pairs: Sequence[tuple[int, int]], weights: Array) -> Basis:
    """Orthonormal features of the columns and of products of them."""
    middle = weights @ columns / weights.sum()
    basis = orthonormal(with_products(columns, pairs, weights), weights)
    return replace(basis, knots=(None,) * columns.shape[1], products=tuple(pairs), middle=middle)


def with_products(columns: Array, pairs: Sequence[tuple[int, int]], weights: Array) -> Array:
    """The columns, and products of them from their middles, side by side."""
    middle = weights @ columns / weights.sum()
    return np.hstack([columns, products_of(columns - middle, pairs)])


def left_of(columns: Array, outcomes: Array, weights: Array) -> tuple[Array, int]:
    """Variance of outcomes (k,n) that least squares on columns (n,m) leaves, (k,), and columns it takes.

    The intercept is one of them. By Cholesky where the columns are told apart, which is many times faster
    than to make them orthonormal; the same columns are dropped.
    """
    share = weights / weights.sum()
    centred = outcomes - (outcomes @ share)[:, None]
    whole = centred**2 @ share
    centre = share @ columns
    half = np.sqrt(share)
    middle = (columns - centre) * half[:, None]
    # A product with itself takes half as long.
    gram = middle.T @ middle
    scale = np.sqrt(gram.diagonal())
    if (scale > 1e-12 * np.abs(centre)).all():
        root, failed = dpotrf(gram / scale / scale[:, None], lower=1)
        if not failed and root.diagonal().min(initial=1.0) > TOLD_APART:
            along = (middle.T @ (centred * half).T) / scale[:, None]
            return whole - (along * dpotrs(root, along, lower=1)[0]).sum(axis=0), 1 + columns.shape[1]
    features = orthonormal(columns, weights).rotated(columns)[:, 1:]
    return whole - ((centred * share @ features) ** 2).sum(axis=1), 1 + features.shape[1]


def orthonormal(expanded: Array, weights: Array) -> Basis:
    """The basis of columns as they are: weighted mean 0 and covariance I, what is collinear dropped."""
    share = weights / weights.sum()
    centre = share @ expanded
    centred = expanded - centre
    covariance = centred.T @ (centred * share[:, None])
    scale = np.sqrt(covariance.diagonal())
    scale[scale <= 1e-12 * np.maximum(np.abs(centre), 1e-300)] = np.inf
    values, vectors = np.linalg.eigh(covariance / scale / scale[:, None])
    keep = values > 1e-9 * max(values.max(initial=0.0), 1e-300)
    rotate = (vectors[:, keep] / np.sqrt(values[keep])) / scale[:, None]
    return Basis((None,) * expanded.shape[1], centre, rotate)


def _expanded(columns: Array, knots: Knots) -> Array:
    """The columns side by side, those with knots as their splines, (n, m)."""
    if not any(knots):
        return columns
    pairs = zip(columns.T, knots, strict=True)
    return np.hstack([column[:, None] if grid is None else splines(column, grid) for column, grid in pairs])


def splines(column: Array, knots: Sequence[float]) -> Array:
    """Cubic B-splines of a column (n,), linear beyond the knots (k,): (n, k + 1), without the last of them.

    The B-splines sum to one, so that the last would repeat the intercept. This is scikit-learn's
    SplineTransformer, bit for bit, on the same BSpline of scipy: importing it from there takes half a second.
    """
    curve, slopes = _curves(tuple(knots))
    inside = np.minimum(np.maximum(column, knots[0]), knots[-1])
    values = np.asarray(curve(inside))
    beyond = np.flatnonzero(column != inside)
    if len(beyond):
        low = column[beyond] < inside[beyond]
        values[beyond] += (column - inside)[beyond, None] * slopes[np.where(low, 0, 1)]
    return values[:, :-1]


@lru_cache(maxsize=1_000)
def _curves(knots: tuple[float, ...]) -> tuple[BSpline, Array]:
    """All B-splines of some knots, and their slopes at the first and the last knot (2, k + 2)."""
    # Most tables need no spline, and the import takes a tenth of a second.
    from scipy.interpolate import BSpline

    grid = np.array(knots)
    first, last = grid[1] - grid[0], grid[-1] - grid[-2]
    before = np.linspace(grid[0] - DEGREE * first, grid[0] - first, DEGREE)
    after = np.linspace(grid[-1] + last, grid[-1] + DEGREE * last, DEGREE)
    curve = BSpline(np.concatenate([before, grid, after]), np.eye(len(grid) + DEGREE - 1), DEGREE)
    return curve, np.asarray(curve(grid[[0, -1]], nu=1))
