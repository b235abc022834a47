"""Scores and Hessian of a chunk of rows under one mixture, by Louis' formula.

For a class c = (A, j) of a row the complete-data score is s_c and its Hessian H_c. With posterior weights r_c
the row's observed score and Hessian are (Louis 1982)

    s = sum_c r_c s_c,      H = sum_c r_c (H_c + s_c s_c') - s s'

Content and environment have many columns, and all that a class says of their coefficients are multiples of
those columns: slopes move by rho x, weights by content by (1{k=j} - w_k) x, the gate by (a - pi) g. Sums over
classes are therefore sums of those factors, one number per row, and the columns enter once, as products of
matrices. The rest (shift, widths, constant weights, a constant gate) is little, kept as rows (m, n).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from proxycal.mixture.laws import Params, Posterior, Rows, Shape, posterior

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each block stands in the full parameter vector of one model.

    mean: J*p betas then L shifts; scale: J log sds then q-1 slopes; weight: (J-1) blocks; gate.
    """

    mean: slice
    shift: slice
    scale: slice
    weight: slice
    gate: slice
    size: int

    @classmethod
    def of(cls, shape: Shape, p: int, q: int, L: int) -> Layout:
        """The layout of a shape."""
        widths = [
            shape.J * p,
            L if shape.shift else 0,
            shape.J + (q - 1 if shape.scale == "environment" else 0),
            (shape.J - 1) * (p if shape.weights == "content" else 1),
            (q if shape.gate == "environment" else 1) if shape.shift else 0,
        ]
        ends = np.cumsum([0, *widths])
        parts = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        mean, shift, scale, weight, gate = parts
        return cls(mean, shift, scale, weight, gate, int(ends[-1]))


def layout_of(params: Params, shape: Shape) -> Layout:
    """Where the parameters of a model stand in the vectors of `Information`."""
    L = 0 if params.a is None else params.a.shape[1]
    return Layout.of(shape, params.beta.shape[2], params.scale.shape[1], L)


@dataclass(frozen=True, slots=True)
class _Class:
    """A class (a, j) of all rows: r (n,) its posterior; what a mean and a log sd move by.

    rho (n,): slope of the log density by the mean; kappa (n,): squared residual in variances; inv_var (n,).
    along (K,n): the factors of the blocks; rest (m,n): the scores of the rest.
    """

    a: int
    j: int
    r: Array
    rho: Array
    kappa: Array
    inv_var: Array
    along: Array
    rest: Array


@dataclass(frozen=True, slots=True)
class _Blocks:
    """The parameters that stand along the columns of a matrix, and the rest.

    columns: of each block, (n, width); at: its place in the layout. First the J slopes, then the weights by
    content, where there are any; spread, gate: which block the log-sd slopes and the gate are, or None. rest:
    places of the others, and shift, scale, weight, constant_gate: where their parts stand among them.
    """

    columns: tuple[Array, ...]
    at: tuple[slice, ...]
    spread: int | None
    gate: int | None
    rest: NDArray[np.intp]
    shift: slice
    scale: slice
    weight: slice
    constant_gate: slice

    @classmethod
    def of(cls, layout: Layout, rows: Rows, shape: Shape) -> _Blocks:
        """The blocks of a shape."""
        J, p = shape.J, rows.X.shape[1]
        columns = [rows.X] * J
        at = [slice(j * p, j * p + p) for j in range(J)]
        spread = gate = None
        if shape.weights == "content":
            columns += [rows.X] * (J - 1)
            first = layout.weight.start
            at += [slice(first + k * p, first + k * p + p) for k in range(J - 1)]
        if shape.scale == "environment":
            spread = len(at)
            columns.append(rows.G[:, 1:])
            at.append(slice(layout.scale.start + J, layout.scale.stop))
        if shape.shift and shape.gate == "environment":
            gate = len(at)
            columns.append(rows.G)
            at.append(layout.gate)
        rest = np.setdiff1d(np.arange(layout.size), np.concatenate([np.r_[block] for block in at]))
        shifts = layout.shift.stop - layout.shift.start
        weights = 0 if shape.weights == "content" else J - 1
        ends = [0, shifts, shifts + J, shifts + J + weights, len(rest)]
        return cls(tuple(columns), tuple(at), spread, gate, rest, *(slice(a, b) for a, b in pairwise(ends)))


class RowScores:
    """The scores of the rows of a chunk, and what their Hessian is made of."""

    def __init__(self, params: Params, rows: Rows, shape: Shape) -> None:
        self.rows, self.shape, self.layout = rows, shape, layout_of(params, shape)
        self.post: Posterior = posterior(params, rows, shape)
        self.blocks = _Blocks.of(self.layout, rows, shape)
        self._params = params
        self._D = np.ascontiguousarray(rows.D.T)
        self._w = np.exp(self.post.log_w[0])
        K = len(self.blocks.at)
        self._pairs = [(k, m) for k in range(K) for m in range(k, K)]

    def classes(self) -> Iterator[_Class]:
        """Every class of the rows."""
        post, shape, J, blocks = self.post, self.shape, self.shape.J, self.blocks
        for a in (0, 1) if shape.shift else (0,):
            for j in range(J):
                residual = post.residual[0, j] - post.shift[0] if a else post.residual[0, j]
                inv_var: Array = np.exp(-2.0 * self._params.log_sigma[0, j])
                if post.precision is not None:
                    inv_var = inv_var * post.precision[0]
                rho = residual * inv_var
                kappa = residual * rho
                along = np.zeros((len(blocks.at), len(rho)))
                rest = np.zeros((len(blocks.rest), len(rho)))
                along[j] = rho
                if a:
                    np.multiply(rho, self._D, out=rest[blocks.shift])
                width = rest[blocks.scale][j]
                np.subtract(kappa, 1.0, out=width)
                if blocks.spread is not None:
                    along[blocks.spread] = width
                opened = along[J : 2 * J - 1] if shape.weights == "content" else rest[blocks.weight]
                np.negative(self._w[1:], out=opened)
                if j:
                    opened[j - 1] += 1.0
                if blocks.gate is not None:
                    np.subtract(a, post.pi[0], out=along[blocks.gate])
                elif shape.shift:
                    np.subtract(a, post.pi, out=rest[blocks.constant_gate])
                r = (post.r1 if a else post.r0)[0, j]
                yield _Class(a, j, r, rho, kappa, inv_var, along, rest)

    def sums(self, meat: bool) -> tuple[Array, Array, Array | None]:
        """Score (m,), Hessian (m,m) and, where it is asked for, the sum of outer products of scores (m,m)."""
        W, J, K, rest = self.rows.weights, self.shape.J, len(self.blocks.at), len(self.blocks.rest)
        n, pairs = len(W), self._pairs
        along, others = np.zeros((K, n)), np.zeros((rest, n))
        second, cross = np.zeros((len(pairs), n)), np.zeros((K, rest, n))
        hessian = np.zeros((rest, rest))
        for c in self.classes():
            weighted = c.rest * c.r
            others += weighted
            weighted *= W
            hessian += weighted @ c.rest.T
            rs = c.along * c.r
            along += rs
            # The factors of other components' slopes are zero.
            moved = (c.j, *range(J, K))
            for at, (k, m) in enumerate(pairs):
                if k in moved and m in moved:
                    second[at] += rs[k] * c.along[m]
            for k in moved:
                cross[k] += rs[k] * c.rest
            self._add_curvature(second, cross, hessian, c)
        self._add_priors(second, hessian)
        score = self._vector(along * W, others @ W)
        weighted = along * W
        for at, (k, m) in enumerate(pairs):
            second[at] *= W
            second[at] -= weighted[k] * along[m]
        for k in range(K):
            cross[k] *= W
            cross[k] -= weighted[k] * others
        inner = (others * W) @ others.T
        full = self._matrix(second, cross, hessian - inner)
        if not meat:
            return score, full, None
        outer = np.stack([weighted[k] * along[m] for k, m in pairs])
        return score, full, self._matrix(outer, weighted[:, None] * others, inner)

    def _add_curvature(self, second: Array, cross: Array, hessian: Array, c: _Class) -> None:
        """Add what the log density of a class bends by in its mean, shift and log sd."""
        blocks, pairs, W = self.blocks, self._pairs, self.rows.weights
        by_mean, by_both, by_width = c.r * c.inv_var, 2.0 * c.r * c.rho, 2.0 * c.r * c.kappa
        width = blocks.scale.start + c.j
        second[pairs.index((c.j, c.j))] -= by_mean
        cross[c.j, width] -= by_both
        hessian[width, width] -= by_width @ W
        if blocks.spread is not None:
            second[pairs.index((c.j, blocks.spread))] -= by_both
            second[pairs.index((blocks.spread, blocks.spread))] -= by_width
            cross[blocks.spread, width] -= by_width
        if c.a:
            shifted = self._D * by_mean
            cross[c.j, blocks.shift] -= shifted
            hessian[blocks.shift, blocks.shift] -= (shifted * W) @ self._D.T
            both = self._D @ (by_both * W)
            hessian[blocks.shift, width] -= both
            hessian[width, blocks.shift] -= both
            if blocks.spread is not None:
                cross[blocks.spread, blocks.shift] -= self._D * by_both

    def _add_priors(self, second: Array, hessian: Array) -> None:
        """Add what the weights of the components, and the gate, bend by."""
        W, J, blocks = self.rows.weights, self.shape.J, self.blocks
        if self.shape.weights == "content":
            for k, m in ((k, m) for k, m in self._pairs if J <= k <= m < 2 * J - 1):
                second[self._pairs.index((k, m))] -= self._w[k - J + 1] * ((k == m) - self._w[m - J + 1])
        else:
            w = self._w[1:, 0]
            hessian[blocks.weight, blocks.weight] -= W.sum() * (np.diag(w) - np.outer(w, w))
        if self.shape.shift:
            by_gate = self.post.pi[0] * (1.0 - self.post.pi[0])
            if blocks.gate is not None:
                second[self._pairs.index((blocks.gate, blocks.gate))] -= by_gate
            else:
                hessian[blocks.constant_gate, blocks.constant_gate] -= by_gate @ W

    def _vector(self, along: Array, rest: Array) -> Array:
        """One vector in the order of the layout, from factors of the blocks (K,n) and the rest (m,)."""
        full = np.empty(self.layout.size)
        for at, columns, factor in zip(self.blocks.at, self.blocks.columns, along, strict=True):
            full[at] = factor @ columns
        full[self.blocks.rest] = rest
        return full

    def _matrix(self, second: Array, cross: Array, rest: Array) -> Array:
        """Likewise a symmetric matrix, from factors of two blocks, of a block and the rest, and the rest."""
        blocks, full = self.blocks, np.empty((self.layout.size, self.layout.size))
        along_x = [columns is self.rows.X for columns in blocks.columns]
        grams = iter(self.rows.grams(second[[along_x[m] for _, m in self._pairs]]))
        for factor, (k, m) in zip(second, self._pairs, strict=True):
            weighted = blocks.columns[m] * factor[:, None] if not along_x[m] else None
            product = next(grams) if weighted is None else blocks.columns[k].T @ weighted
            full[blocks.at[k], blocks.at[m]] = product
            full[blocks.at[m], blocks.at[k]] = product.T
        for at, columns, factors in zip(blocks.at, blocks.columns, cross, strict=True):
            side = factors @ columns
            full[blocks.rest, at] = side
            full[at, blocks.rest] = side.T
        full[np.ix_(blocks.rest, blocks.rest)] = rest
        return full

    def rows_of(self, along: Array, rest: Array) -> Array:
        """A score of every row, (n, size), from the factors of the blocks (K,n) and the rest (m,n)."""
        full = np.empty((along.shape[1], self.layout.size))
        for at, columns, factor in zip(self.blocks.at, self.blocks.columns, along, strict=True):
            np.multiply(factor[:, None], columns, out=full[:, at])
        full[:, self.blocks.rest] = rest.T
        return full

    def averaged(self, by_a: tuple[Array | float, Array | float]) -> Array:
        """The scores of the classes of every row, by their posterior times a number for A = 0 and A = 1."""
        n = len(self.rows.y)
        along, rest = np.zeros((len(self.blocks.at), n)), np.zeros((len(self.blocks.rest), n))
        for c in self.classes():
            r = c.r * by_a[c.a]
            along += c.along * r
            rest += c.rest * r
        return self.rows_of(along, rest)
