"""The sampling error of the reduced form: its covariance C, as far as anybody asks for it.

C is the sum of s s' over rows or clusters, where s is what one of them moves (slopes, resid) by. It has a row
for every pair of an equation and a column, hundreds or thousands of them. A sum of products adds up over
pieces of a table; where columns are many and rows are few, all that is asked for comes faster from the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from proxycal.methods.gradual.curvature import Curvature

    Array = NDArray[np.float64]
    # (n, k) each: the first times the other's transpose.
    Factors = tuple[Array, Array]

# Rows of a band of a matrix that has a number for every pair of rows.
BAND = 64


@dataclass(frozen=True, slots=True)
class Unexplained:
    """Of M = H - H J root root' J' H, what the parameters leave of the curvature H.

    first, second : tr(M C), tr(M C M C); spread : (K, q, q) = M C M in the slopes of each proxy
    """

    first: float
    second: float
    spread: Array


class Sampling(Protocol):
    """What the method asks of C, the covariance of (slopes, lower triangle of resid)."""

    @property
    def slope_variance(self) -> float:
        """The mean variance of a slope."""

    def of_equation(self, contrast: Array, proxies: Sequence[int]) -> Array:
        """(q + L, q + L) covariance of slopes' contrast and of resid[proxies] contrast; contrast (K + 1,)."""

    def trace(self, curvature: Curvature) -> float:
        """tr(H C)."""

    def within(self, curvature: Curvature) -> Array:
        """(k, k) = J' H C H J."""

    def unexplained(self, curvature: Curvature, root: Array) -> Unexplained:
        """What parameters with the covariance root root', root (k, r), leave."""


@dataclass(frozen=True, slots=True)
class SummedSampling:
    """C itself, (p, p); width : q, the number of basis columns."""

    covariance: Array
    width: int

    @property
    def slope_variance(self) -> float:
        """The mean variance of a slope."""
        return float(self.covariance.diagonal()[: self._equations * self.width].mean())

    @property
    def _equations(self) -> int:
        # p = k1 q + k1 (k1 + 1) / 2, solved for k1.
        half = self.width + 0.5
        return round(np.sqrt(half**2 + 2.0 * len(self.covariance)) - half)

    def of_equation(self, contrast: Array, proxies: Sequence[int]) -> Array:
        """(q + L, q + L) covariance of slopes' contrast and of resid[proxies] contrast; contrast (K + 1,)."""
        k1, width = len(contrast), self.width
        lower = np.zeros((k1, k1), dtype=int)
        lower[np.tril_indices(k1)] = k1 * width + np.arange(k1 * (k1 + 1) // 2)
        place = np.maximum(lower, lower.T)
        taken = np.zeros((width + len(proxies), len(self.covariance)))
        taken[:width, : k1 * width] = np.kron(contrast, np.eye(width))
        for row, proxy in enumerate(proxies, width):
            taken[row, place[proxy]] = contrast
        return taken @ self.covariance @ taken.T

    def trace(self, curvature: Curvature) -> float:
        """tr(H C)."""
        k1 = len(curvature.of_slopes)
        p = k1 * self.width
        # Of each pair of equations, the trace over the columns of the basis.
        blocks = self.covariance[:p, :p].reshape(k1, self.width, k1, self.width)
        of_slopes = (curvature.of_slopes * np.einsum("aibi->ab", blocks)).sum()
        return float(of_slopes + (curvature.of_resid * self.covariance[p:, p:]).sum())

    def within(self, curvature: Curvature) -> Array:
        """(k, k) = J' H C H J."""
        return self._covered(curvature) @ curvature.weighted

    def unexplained(self, curvature: Curvature, root: Array) -> Unexplained:
        """What parameters with the covariance root root', root (k, r), leave.

        Of M C and M C M only traces and blocks are asked for: they take H C, and else matrices with a side of
        k.
        """
        covered = self._covered(curvature)
        bent, back = curvature.times(self.covariance), curvature.times(covered.T)
        within, inverse = covered @ curvature.weighted, root @ root.T
        taken = inverse @ within
        first = float(np.trace(bent) - np.trace(taken))
        second = float(np.einsum("ij,ji->", bent, bent) + np.einsum("ij,ji->", taken, taken))
        second -= 2.0 * float((inverse * (covered @ back)).sum())
        of_slopes, k1 = curvature.of_slopes, len(curvature.of_slopes)
        rows, blocks = slice(0, (k1 - 1) * self.width), (k1 - 1, self.width, -1)
        weighted, back = (values[rows].reshape(blocks) for values in (curvature.weighted, back))
        bent = bent[rows, : k1 * self.width].reshape(k1 - 1, self.width, k1, self.width)
        both_sides = np.einsum("aqbr,ba->aqr", bent, of_slopes[:, :-1])
        solved = weighted @ inverse
        crossed = solved @ back.transpose(0, 2, 1)
        spread = both_sides - crossed - crossed.transpose(0, 2, 1)
        return Unexplained(first, second, spread + solved @ within @ solved.transpose(0, 2, 1))

    def _covered(self, curvature: Curvature) -> Array:
        """(k, p) = J' H C, in the order of the parameters (Lambda, Psi, Gamma, b).

        In the slopes H J is Sigma^-1 times a factor that is gamma for Lambda, and the same for every column
        of the basis for Gamma and b; Psi has no slopes, and Gamma and b no resid. A tenth of the plain
        product.
        """
        inverse, structure = curvature.of_slopes, curvature.structure
        loadings, gamma = structure.loadings, structure.gamma
        (k1, d), width, p = loadings.shape, self.width, len(self.covariance)
        slopes, resid = np.split(self.covariance, [k1 * width])
        of_resid = curvature.weighted[k1 * width :, : k1 * (d + 1)].T @ resid
        along = np.matmul(gamma, slopes.reshape(k1, width, p)).reshape(k1, d * p)
        of_resid[: k1 * d] += (inverse @ along).reshape(k1 * d, p)
        factors = np.column_stack([inverse @ loadings, inverse[:, -1]])
        of_slopes = (factors.T @ slopes.reshape(k1, width * p)).reshape((d + 1) * width, p)
        return np.vstack([of_resid, of_slopes])


@dataclass(frozen=True, slots=True)
class RowSampling:
    """C as the sum over independent rows of m^2 s s', s = (l x', lower triangle of l l' - resid).

    left : (n, K + 1) residuals l of the reduced form; regressors : (n, q) whitened basis columns x
    mass : (n,) = m, the weight of a row in units of C; resid : (K + 1, K + 1), the mean of l l'
    """

    left: Array
    regressors: Array
    mass: Array
    resid: Array

    @property
    def slope_variance(self) -> float:
        """The mean variance of a slope."""
        sizes = (self.left**2).sum(axis=1) * (self.regressors**2).sum(axis=1)
        return float(self.mass**2 @ sizes) / (self.left.shape[1] * self.regressors.shape[1])

    def of_equation(self, contrast: Array, proxies: Sequence[int]) -> Array:
        """(q + L, q + L) covariance of slopes' contrast and of resid[proxies] contrast; contrast (K + 1,)."""
        along = (self.left @ contrast)[:, None]
        products = self.left[:, proxies] * along - (self.resid @ contrast)[proxies]
        moved = self.mass[:, None] * np.hstack([along * self.regressors, products])
        return moved.T @ moved

    def trace(self, curvature: Curvature) -> float:
        """tr(H C)."""
        solved, constant, own = self._solved(curvature)
        size = (self.left * solved).sum(axis=1)
        sizes = size * ((self.regressors**2).sum(axis=1) + 0.5 * size) - 2.0 * own + constant
        return float(self.mass**2 @ sizes)

    def within(self, curvature: Curvature) -> Array:
        """(k, k) = J' H C H J."""
        scores = self._scores(curvature)
        return scores.T @ scores

    def unexplained(self, curvature: Curvature, root: Array) -> Unexplained:
        """What parameters with the covariance root root', root (k, r), leave.

        tr(M C) and tr(M C M C) are sums over rows and pairs of rows of s' M s, in which s' H s is

            (l_i' Sigma^-1 l_j) (x_i' x_j) + tr(Sigma^-1 (l_i l_i' - resid) Sigma^-1 (l_j l_j' - resid)) / 2
        """
        inverse, structure = curvature.of_slopes, curvature.structure
        solved, constant, own = self._solved(curvature)
        mass = self.mass[:, None]
        scores = self._scores(curvature) @ root
        # The sum that depends on one row alone, and a pair of columns for what depends on either.
        alone = mass * (own - 0.5 * constant)[:, None]
        first, second = _trace_and_square(
            (mass * self.left, mass * solved),
            (np.hstack([self.regressors, 0.5 * self.left]), np.hstack([self.regressors, solved])),
            (np.hstack([scores, alone, mass]), np.hstack([scores, mass, alone])),
        )
        # What a row leaves of the slopes of a proxy once the parameters have followed it.
        (k1, d), (n, width) = structure.loadings.shape, self.regressors.shape
        loadings, _, moved = np.split(scores @ root.T, np.cumsum([k1 * d, k1]), axis=1)
        bent = inverse[:-1] @ loadings.reshape(n, k1, d)
        by_parameter = np.ascontiguousarray(moved.reshape(n, d + 1, width).transpose(1, 0, 2))
        factors = inverse[:-1] @ np.column_stack([structure.loadings, np.eye(k1)[-1]])
        spread = np.empty((k1 - 1, width, width))
        for proxy, factor in enumerate(factors):
            rest = (mass[:, 0] * solved[:, proxy])[:, None] * self.regressors
            rest -= bent[:, proxy] @ structure.gamma
            rest -= np.tensordot(factor, by_parameter, 1)
            spread[proxy] = rest.T @ rest
        return Unexplained(first, second, spread)

    def _solved(self, curvature: Curvature) -> tuple[Array, float, Array]:
        """(n, K + 1) Sigma^-1 l, and what centring takes of s' H s: a constant, and a sum for each row."""
        inverse = curvature.of_slopes
        solved = self.left @ inverse
        turned = inverse @ self.resid
        constant = 0.5 * float((turned * turned.T).sum())
        return solved, constant, 0.5 * ((solved @ self.resid) * solved).sum(axis=1)

    def _scores(self, curvature: Curvature) -> Array:
        """(n, k) = m J' H s, in the order of the parameters (Lambda, Psi, Gamma, b)."""
        structure, inverse = curvature.structure, curvature.of_slopes
        solved, n = self.left @ inverse, len(self.left)
        content = solved @ structure.loadings
        centre = inverse @ self.resid @ inverse
        along = self.regressors @ structure.gamma.T + content
        by_loadings = solved[:, :, None] * along[:, None, :] - centre @ structure.loadings
        by_gamma = content[:, :, None] * self.regressors[:, None, :]
        parts = [
            by_loadings.reshape(n, -1),
            0.5 * (solved**2 - centre.diagonal()),
            by_gamma.reshape(n, -1),
            solved[:, -1:] * self.regressors,
        ]
        return self.mass[:, None] * np.hstack(parts)


def _trace_and_square(first: Factors, second: Factors, third: Factors) -> tuple[float, float]:
    """Trace and sum of squares of (first * second - third), (n, n), each a product of two factors, symmetric.

    In bands of rows from the diagonal on: all that a band needs stays near the processor.
    """
    trace = square = 0.0
    for start in range(0, len(first[0]), BAND):
        stop = start + BAND
        products = (left[start:stop] @ right[start:].T for left, right in (first, second, third))
        # In place, one after the other: they are as large as all that is worked on.
        pairs = next(products)
        pairs *= next(products)
        pairs -= next(products)
        # What is beyond the band stands for its mirror as well.
        height = len(pairs)
        trace += float(np.trace(pairs[:, :height]))
        square += 2.0 * float(pairs.ravel() @ pairs.ravel()) - float((pairs[:, :height] ** 2).sum())
    return trace, square
