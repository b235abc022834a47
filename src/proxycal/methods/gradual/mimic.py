"""The system of content, proxies and a graded bias, by quasi-likelihood from sufficient statistics.

Only first and second moments are used, so the errors need not be normal; their covariance is estimated from
the rows (clusters included).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from proxycal.tails import chi2_sf

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.methods.gradual.moments import Reduced
    from proxycal.methods.gradual.structure import Structure

    Array = NDArray[np.float64]

# A direction whose information is below this share of the median is flat: two values fit alike.
FLAT = 1e-4


@dataclass(frozen=True, slots=True)
class Contents:
    """A system with some number of contents, as far as it takes to choose one.

    curvature : of the likelihood in slopes and in resid; weighted : (p, k), the curvature times the Jacobian;
    inverse : (k, k) of the curvature in the parameters, which take weighted inverse weighted' of it
    covered, within : (k, p), (k, k) = weighted' covariance, weighted' covariance weighted
    normal_cov : (q, q) shape of the covariance of b if errors were normal and rows independent, of one row
    flat : flat directions beyond the d(d-1)/2 rotations of content
    least_information : of the least determined direction, rotations aside: 1 / its variance
    spare : moments that are left to test it by
    bic : information criterion on the robust scale; the smallest is best
    """

    structure: Structure
    curvature: tuple[Array, Array]
    weighted: Array
    inverse: Array
    covered: Array
    within: Array
    normal_cov: Array
    flat: int
    least_information: float
    spare: int
    bic: float


@dataclass(frozen=True, slots=True)
class MimicFit:
    """A system with its errors and tests.

    bias, bias_cov : (q,), (q, q) in the whitened basis, outcome in residual standard deviations
    left, left_cov : (K, q, q) for the slopes of each proxy what the parameters leave of their curvature, and
    the sampling covariance of the score there
    misfit : (p,) observed less implied (slopes, resid)
    over_p, over_df : over-identification test, robust; over_df = 0 where nothing is left to test
    """

    contents: Contents
    bias: Array
    bias_cov: Array
    left: Array
    left_cov: Array
    misfit: Array
    over_statistic: float
    over_df: int
    over_p: float

    @property
    def structure(self) -> Structure:
        """The fitted system."""
        return self.contents.structure


def most_contents(n_proxies: int, width: int) -> int:
    """Largest d that K proxies can show: K >= 2d, or K >= d + 1 where E can move content in d directions.

    >>> most_contents(2, 5), most_contents(3, 5), most_contents(4, 1), most_contents(1, 9)
    (1, 2, 2, 0)
    """
    allowed = 0
    for d in range(1, n_proxies):
        enough = n_proxies >= 2 * d or (width >= d and n_proxies >= d + 1)
        if enough and spare_moments(n_proxies, width, d) >= 0:
            allowed = d
    return allowed


def spare_moments(n_proxies: int, width: int, d: int) -> int:
    """Moments of the reduced form less the parameters of the system: what is left to test it by."""
    k1 = n_proxies + 1
    moments = k1 * (k1 + 1) // 2 + n_proxies * width
    return moments - (k1 * d - d * (d - 1) // 2 + k1 + d * width)


def fit_contents(structure: Structure, covariance: Array, n_effective: float) -> Contents:
    """What speaks for a structure.

    covariance : (p, p) of the sampling error of (slopes, resid); n_effective : rows that independent, equally
    weighted observations would need for the same precision
    """
    d = structure.dimension
    slopes_of_moments = jacobian(structure)
    curvature = _normal_curvature(structure)
    weighted = times_curvature(curvature, slopes_of_moments)
    values, vectors = np.linalg.eigh(slopes_of_moments.T @ weighted)
    rotations = d * (d - 1) // 2
    kept, directions = values[rotations:], vectors[:, rotations:]
    inverse = (directions / np.maximum(kept, 1e-12)) @ directions.T
    width = len(structure.bias)
    spare = spare_moments(len(structure.errors) - 1, width, d)
    covered = _times_covariance(structure, curvature, weighted, covariance)
    within = covered @ weighted
    # The trace of what the parameters leave of the curvature, times covariance.
    left = _trace(curvature, covariance) - float((inverse * within).sum())
    scaled = structure.distance * spare / left if spare > 0 and left > 0.0 else 0.0
    return Contents(
        structure=structure,
        curvature=curvature,
        weighted=weighted,
        inverse=inverse,
        covered=covered,
        within=within,
        normal_cov=inverse[-width:, -width:],
        flat=int((kept < FLAT * np.median(kept)).sum()),
        least_information=float(kept[0]) * n_effective,
        spare=spare,
        bic=scaled - spare * float(np.log(n_effective)),
    )


def fit_mimic(contents: Contents, reduced: Reduced, covariance: Array) -> MimicFit:
    """Errors and tests of a system, from the sampling covariance (p, p) of (slopes, resid)."""
    structure, inverse = contents.structure, contents.inverse
    of_bias = inverse[-len(structure.bias) :]
    # With curvature H, covariance C and weighted W the parameters leave M = H - W inverse W' of H. Of M C and
    # M C M only traces and blocks are asked for: they take H C, and else matrices with a side of k.
    bent = times_curvature(contents.curvature, covariance)
    back = times_curvature(contents.curvature, contents.covered.T)
    taken = inverse @ contents.within
    first = float(np.trace(bent) - np.trace(taken))
    second = float(np.einsum("ij,ji->", bent, bent) + np.einsum("ij,ji->", taken, taken))
    second -= 2.0 * float((inverse * (contents.covered @ back)).sum())
    statistic, p = _over_identification(structure.distance, first, second, contents.spare)
    left, left_cov = _of_proxies(contents, bent, back)
    return MimicFit(
        contents=contents,
        bias=structure.bias,
        bias_cov=of_bias @ contents.within @ of_bias.T,
        left=left,
        left_cov=left_cov,
        misfit=_misfit(structure, reduced),
        over_statistic=statistic,
        over_df=contents.spare,
        over_p=p,
    )


def _of_proxies(contents: Contents, bent: Array, back: Array) -> tuple[Array, Array]:
    """(K, q, q) each: M and M C M of `fit_mimic` in the slopes of each proxy.

    bent, back : H C (p, p) and H C W (p, k).
    """
    of_slopes = contents.curvature[0]
    k1, width = len(of_slopes), len(contents.structure.bias)
    blocks = slice(0, (k1 - 1) * width), (k1 - 1, width, -1)
    weighted, back = (values[blocks[0]].reshape(blocks[1]) for values in (contents.weighted, back))
    solved = weighted @ contents.inverse
    # The curvature in slopes: one number for each pair of equations, on the diagonal of the basis.
    own = of_slopes.diagonal()[:-1, None, None] * np.eye(width)
    bent = bent[blocks[0], : k1 * width].reshape(k1 - 1, width, k1, width)
    both_sides = np.einsum("aqbr,ba->aqr", bent, of_slopes[:, :-1])
    crossed = solved @ back.transpose(0, 2, 1)
    within = solved @ contents.within @ solved.transpose(0, 2, 1)
    left = own - solved @ weighted.transpose(0, 2, 1)
    return left, both_sides - crossed - crossed.transpose(0, 2, 1) + within


def _misfit(structure: Structure, reduced: Reduced) -> Array:
    slopes = structure.loadings @ structure.gamma
    slopes[-1] += structure.bias
    lower = np.tril_indices(len(reduced.scale))
    return np.append((reduced.slopes - slopes).ravel(), (reduced.resid - structure.implied)[lower])


def _over_identification(distance: float, first: float, second: float, spare: int) -> tuple[float, float]:
    """Likelihood ratio on the scale of chi-square, and its p-value, whatever the errors and clusters.

    Under the model `distance` is a quadratic form in the sampling error of (slopes, resid), distributed as
    sum_j l_j chi2_1 with l_j the eigenvalues of M C, of which first and second are the sums of the first and
    second powers. Matching its mean and variance (Satterthwaite; Satorra and Bentler 1994) needs no inverse
    of a covariance that few clusters cannot determine.
    """
    if spare <= 0 or first <= 0.0 or second <= 0.0:
        return 0.0, 1.0
    statistic = distance * first / second
    return statistic, float(chi2_sf(statistic, first**2 / second))


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


def _normal_curvature(structure: Structure) -> tuple[Array, Array]:
    """Curvature of the quasi-likelihood in slopes, Sigma^-1 x I, and in resid, Sigma^-1 x Sigma^-1.

    Sigma^-1 (k1, k1) and the second one. Both carry the factor 2 of -2 log-likelihood over 2: 1 for the
    slopes, 1/2 for the covariances.
    """
    inverse = np.linalg.inv(structure.implied)
    i, j = np.tril_indices(len(inverse))
    # A pair off the diagonal stands for two entries of the matrix.
    twice = np.where(i == j, 1.0, 2.0)
    pairs = inverse[np.ix_(i, i)] * inverse[np.ix_(j, j)] + inverse[np.ix_(i, j)] * inverse[np.ix_(j, i)]
    return np.asarray(inverse, dtype=float), np.asarray(0.25 * pairs * np.outer(twice, twice), dtype=float)


def times_curvature(curvature: tuple[Array, Array], values: Array) -> Array:
    """The curvature in (slopes, resid) times values (p, m)."""
    of_slopes, of_resid = curvature
    slopes = values[: len(values) - len(of_resid)]
    by_outcome = of_slopes @ slopes.reshape(len(of_slopes), -1)
    return np.vstack([by_outcome.reshape(slopes.shape), of_resid @ values[len(slopes) :]])


def _times_covariance(
    structure: Structure, curvature: tuple[Array, Array], weighted: Array, covariance: Array
) -> Array:
    """(k, p) = weighted' covariance, in the order of the parameters (Lambda, Psi, Gamma, b).

    In the slopes weighted is Sigma^-1 times a factor that is gamma for Lambda, and the same for every column
    of the basis for Gamma and b; Psi has no slopes, and Gamma and b no resid. A tenth of the plain product.
    """
    inverse, loadings, gamma = curvature[0], structure.loadings, structure.gamma
    (k1, d), width, p = loadings.shape, gamma.shape[1], len(covariance)
    slopes, resid = np.split(covariance, [k1 * width])
    of_resid = weighted[k1 * width :, : k1 * (d + 1)].T @ resid
    along = np.matmul(gamma, slopes.reshape(k1, width, p)).reshape(k1, d * p)
    of_resid[: k1 * d] += (inverse @ along).reshape(k1 * d, p)
    factors = np.column_stack([inverse @ loadings, inverse[:, -1]])
    of_slopes = (factors.T @ slopes.reshape(k1, width * p)).reshape((d + 1) * width, p)
    return np.vstack([of_resid, of_slopes])


def _trace(curvature: tuple[Array, Array], covariance: Array) -> float:
    """The trace of the curvature in (slopes, resid) times a covariance (p, p)."""
    of_slopes, of_resid = curvature
    k1, p = len(of_slopes), len(covariance) - len(of_resid)
    # Of each pair of equations, the trace over the columns of the basis.
    pairs = np.einsum("aibi->ab", covariance[:p, :p].reshape(k1, p // k1, k1, p // k1))
    return float((of_slopes * pairs).sum() + (of_resid * covariance[p:, p:]).sum())
