"""How the quasi-likelihood bends in the moments of the reduced form, and how the system moves them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.methods.gradual.structure import Structure

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Curvature:
    """Curvature H of the quasi-likelihood in (slopes, lower triangle of resid) at a structure.

    of_slopes : (K + 1, K + 1) = Sigma^-1, for every column of the basis; of_resid : that of the triangle
    jacobian, weighted : (p, k), J = d (slopes, resid) / d (Lambda, Psi, Gamma, b), and H J
    """

    structure: Structure
    of_slopes: Array
    of_resid: Array
    jacobian: Array
    weighted: Array

    def times(self, values: Array) -> Array:
        """H times values (p, m)."""
        return _times(self.of_slopes, self.of_resid, values)


def curvature_at(structure: Structure) -> Curvature:
    """H and H J. Both parts of H carry the factor 2 of -2 log-likelihood over 2.

    That is 1 for the slopes, Sigma^-1 x I, and 1/2 for the covariances, Sigma^-1 x Sigma^-1.
    """
    inverse = np.asarray(np.linalg.inv(structure.implied), dtype=float)
    i, j = np.tril_indices(len(inverse))
    # A pair off the diagonal stands for two entries of the matrix.
    twice = np.where(i == j, 1.0, 2.0)
    pairs = inverse[np.ix_(i, i)] * inverse[np.ix_(j, j)] + inverse[np.ix_(i, j)] * inverse[np.ix_(j, i)]
    of_resid = 0.25 * pairs * np.outer(twice, twice)
    moved = jacobian(structure)
    return Curvature(structure, inverse, of_resid, moved, _times(inverse, of_resid, moved))


def _times(of_slopes: Array, of_resid: Array, values: Array) -> Array:
    slopes = values[: len(values) - len(of_resid)]
    by_outcome = of_slopes @ slopes.reshape(len(of_slopes), -1)
    return np.vstack([by_outcome.reshape(slopes.shape), of_resid @ values[len(slopes) :]])


def jacobian(structure: Structure) -> Array:
    """(p, k): d (slopes, lower triangle of resid) / d (Lambda, Psi, Gamma, b)."""
    loadings, gamma = structure.loadings, structure.gamma
    k1, d = loadings.shape
    width = gamma.shape[1]
    i, j = np.tril_indices(k1)
    slopes_loadings = np.einsum("ac,fq->aqcf", np.eye(k1), gamma).reshape(k1 * width, k1 * d)
    slopes_gamma = np.einsum("af,qr->aqfr", loadings, np.eye(width)).reshape(k1 * width, d * width)
    slopes_bias = np.zeros((k1, width, width))
    slopes_bias[-1] = np.eye(width)
    identity = np.eye(k1)
    resid_loadings = (
        identity[i][:, :, None] * loadings[j][:, None, :] + identity[j][:, :, None] * loadings[i][:, None, :]
    ).reshape(len(i), k1 * d)
    resid_errors = ((i == j)[:, None] * identity[i]).astype(float)
    top = np.hstack(
        [slopes_loadings, np.zeros((k1 * width, k1)), slopes_gamma, slopes_bias.reshape(-1, width)]
    )
    bottom = np.hstack([resid_loadings, resid_errors, np.zeros((len(i), d * width + width))])
    return np.vstack([top, bottom])
