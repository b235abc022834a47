"""Scores and Hessian of a chunk of rows under one mixture, by Louis' formula.

For a class c = (A, j) of a row the complete-data score is s_c and its Hessian H_c. With posterior weights r_c
the row's observed score and Hessian are (Louis 1982)

    s = sum_c r_c s_c,      H = sum_c r_c (H_c + s_c s_c') - s s'

Content has many columns, and all that a class says of its parameters are multiples of those columns: slopes
move by rho x, weights by content by (1{k=j} - w_k) x. Sums over classes are therefore sums of those factors,
one number per row, and the columns enter once, as Gram matrices. The rest is little, kept as rows (m, n).
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
    along (K,n): the factors of x, of the J slopes and then of weights by content; rest (m,n): other scores.
    """

    a: int
    j: int
    r: Array
    rho: Array
    kappa: Array
    inv_var: Array
    along: Array
    rest: Array


class RowScores:
    """The scores of the rows of a chunk, and what their Hessian is made of."""

    def __init__(self, params: Params, rows: Rows, shape: Shape) -> None:
        self.rows, self.shape, self.layout = rows, shape, layout_of(params, shape)
        self.post: Posterior = posterior(params, rows, shape)
        self._params = params
        self._content = shape.weights == "content"
        self._D = np.ascontiguousarray(rows.D.T)
        self._G = np.ascontiguousarray(rows.G.T)
        self._gate = self._G if shape.gate == "environment" else self._G[:1]
        self._w = np.exp(self.post.log_w[0])
        n_along, p, at = 2 * shape.J - 1 if self._content else shape.J, rows.X.shape[1], self.layout
        starts = [j * p for j in range(shape.J)] + [at.weight.start + k * p for k in range(n_along - shape.J)]
        self.blocks = [slice(start, start + p) for start in starts]
        self.other = np.setdiff1d(np.arange(at.size), np.concatenate([np.r_[block] for block in self.blocks]))
        # Where the parts of the rest stand among its rows.
        n_shift, n_scale = at.shift.stop - at.shift.start, at.scale.stop - at.scale.start
        self._shift, self._scale = slice(0, n_shift), slice(n_shift, n_shift + n_scale)
        n_gate = at.gate.stop - at.gate.start
        self._weight = slice(n_shift + n_scale, len(self.other) - n_gate)
        self._gates = slice(len(self.other) - n_gate, len(self.other))

    def classes(self) -> Iterator[_Class]:
        """Every class of the rows."""
        post, shape, J = self.post, self.shape, self.shape.J
        for a in (0, 1) if shape.shift else (0,):
            for j in range(J):
                residual = post.residual[0, j] - post.shift[0] if a else post.residual[0, j]
                inv_var: Array = np.exp(-2.0 * self._params.log_sigma[0, j])
                if post.precision is not None:
                    inv_var = inv_var * post.precision[0]
                rho = residual * inv_var
                kappa = residual * rho
                along = np.zeros((len(self.blocks), len(rho)))
                rest = np.zeros((len(self.other), len(rho)))
                along[j] = rho
                if a:
                    np.multiply(rho, self._D, out=rest[self._shift])
                widths = rest[self._scale]
                np.subtract(kappa, 1.0, out=widths[j])
                np.multiply(widths[j], self._G[1 : 1 + len(widths) - J], out=widths[J:])
                opened = along[J:] if self._content else rest[self._weight]
                np.negative(self._w[1:], out=opened)
                if j:
                    opened[j - 1] += 1.0
                if shape.shift:
                    np.multiply(a - post.pi[0], self._gate, out=rest[self._gates])
                r = (post.r1 if a else post.r0)[0, j]
                yield _Class(a, j, r, rho, kappa, inv_var, along, rest)

    def sums(self, meat: bool) -> tuple[Array, Array, Array | None]:
        """Score (m,), Hessian (m,m) and, where it is asked for, the sum of outer products of scores (m,m)."""
        W, J, rest = self.rows.weights, self.shape.J, len(self.other)
        n, K = len(W), len(self.blocks)
        along, others = np.zeros((K, n)), np.zeros((rest, n))
        pairs = [(k, m) for k in range(K) for m in range(k, K)]
        second, cross = np.zeros((len(pairs), n)), np.zeros((K, rest, n))
        hessian = np.zeros((rest, rest))
        for c in self.classes():
            weighted = c.rest * c.r
            others += weighted
            weighted *= W
            hessian += weighted @ c.rest.T
            self._add_curvature(hessian, c, c.r * W)
            rs = c.along * c.r
            along += rs
            for at, (k, m) in enumerate(pairs):
                # The factors of other components' slopes are zero.
                if k in (c.j, *range(J, K)) and m in (c.j, *range(J, K)):
                    second[at] += rs[k] * c.along[m]
            second[pairs.index((c.j, c.j))] -= c.r * c.inv_var
            for k in (c.j, *range(J, K)):
                cross[k] += rs[k] * c.rest
            self._add_cross(cross[c.j], c)
        for at, (k, m) in enumerate(pairs):
            if k >= J:
                second[at] -= self._w[k - J + 1] * ((k == m) - self._w[m - J + 1])
        self._add_priors(hessian)
        score = self._vector((along * W) @ self.rows.X, others @ W)
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

    def _add_curvature(self, hessian: Array, c: _Class, r: Array) -> None:
        """Add what the log density of a class bends by in shift and log sd."""
        widths = self._widths(c)
        if c.a:
            shifts = self._D * (r * c.inv_var)
            hessian[self._shift, self._shift] -= shifts @ self._D.T
            both = 2.0 * (self._D * (r * c.rho)) @ widths[1].T
            hessian[self._shift, widths[0]] -= both
            hessian[widths[0], self._shift] -= both.T
        hessian[np.ix_(widths[0], widths[0])] -= 2.0 * (widths[1] * (r * c.kappa)) @ widths[1].T

    def _add_cross(self, cross: Array, c: _Class) -> None:
        """Add what it bends by in its slopes on the one hand, and shift or log sd on the other."""
        at, widths = self._widths(c)
        if c.a:
            cross[self._shift] -= self._D * (c.r * c.inv_var)
        cross[at] -= widths * (2.0 * c.r * c.rho)

    def _widths(self, c: _Class) -> tuple[NDArray[np.intp], Array]:
        """The log sds that a class depends on, among the rest, and how its own moves with each: (k, n)."""
        J, start = self.shape.J, self._scale.start
        own = np.r_[start + c.j, start + J : self._scale.stop]
        return own, self._G[: len(own)]

    def _add_priors(self, hessian: Array) -> None:
        """Add what weights that are constant in content, and the gate, bend by."""
        W = self.rows.weights
        if not self._content:
            w = self._w[1:, 0]
            hessian[self._weight, self._weight] -= W.sum() * (np.diag(w) - np.outer(w, w))
        if self.shape.shift:
            pi = self.post.pi[0]
            hessian[self._gates, self._gates] -= (self._gate * (pi * (1.0 - pi) * W)) @ self._gate.T

    def _vector(self, along: Array, rest: Array) -> Array:
        """One vector in the order of the layout, from the blocks along x (K,p) and the rest (m,)."""
        full = np.empty(self.layout.size)
        for block, part in zip(self.blocks, along, strict=True):
            full[block] = part
        full[self.other] = rest
        return full

    def _matrix(self, pairs: Array, cross: Array, rest: Array) -> Array:
        """Likewise a symmetric matrix: x' diag(pairs) x for each pair of blocks, x' cross, and the rest."""
        full, K = np.empty((self.layout.size, self.layout.size)), len(self.blocks)
        grams = iter(self.rows.grams(pairs))
        for k in range(K):
            for m in range(k, K):
                gram = next(grams)
                full[self.blocks[k], self.blocks[m]] = gram
                full[self.blocks[m], self.blocks[k]] = gram
        sides = (cross.reshape(-1, cross.shape[2]) @ self.rows.X).reshape(K, len(rest), -1)
        for block, side in zip(self.blocks, sides, strict=True):
            full[self.other, block] = side
            full[block, self.other] = side.T
        full[np.ix_(self.other, self.other)] = rest
        return full

    def rows_of(self, along: Array, rest: Array) -> Array:
        """A score of every row, (n, size), from the factors of x (K,n) and the rest (m,n)."""
        full = np.empty((along.shape[1], self.layout.size))
        for block, factor in zip(self.blocks, along, strict=True):
            np.multiply(factor[:, None], self.rows.X, out=full[:, block])
        full[:, self.other] = rest.T
        return full

    def averaged(self, by_a: tuple[Array | float, Array | float]) -> Array:
        """The scores of the classes of every row, by their posterior times a number for A = 0 and A = 1."""
        n = len(self.rows.y)
        along, rest = np.zeros((len(self.blocks), n)), np.zeros((len(self.other), n))
        for c in self.classes():
            r = c.r * by_a[c.a]
            along += c.along * r
            rest += c.rest * r
        return self.rows_of(along, rest)
