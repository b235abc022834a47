"""The system of content, proxies and a graded bias, by quasi-likelihood from sufficient statistics.

Only first and second moments are used, so the errors need not be normal; their covariance is estimated from
the rows (clusters included).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from proxycal.methods.gradual.curvature import Curvature, curvature_at
from proxycal.tails import chi2_sf

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.methods.gradual.moments import Reduced
    from proxycal.methods.gradual.sampling import Sampling
    from proxycal.methods.gradual.structure import Structure

    Array = NDArray[np.float64]

# A direction whose information is below this share of the median is flat: two values fit alike.
FLAT = 1e-4


@dataclass(frozen=True, slots=True)
class Contents:
    """A system with some number of contents, as far as it takes to choose one.

    curvature : of the likelihood, H with its Jacobian J
    root : (k, r), of which root root' is the inverse of J' H J, rotations of content aside
    within : (k, k) = J' H C H J, C the sampling covariance
    normal_cov : (q, q) shape of the covariance of b if errors were normal and rows independent, of one row
    flat : flat directions beyond the d(d-1)/2 rotations of content
    least_information : of the least determined direction, rotations aside: 1 / its variance
    spare : moments that are left to test it by
    bic : information criterion on the robust scale; the smallest is best
    """

    structure: Structure
    curvature: Curvature
    root: Array
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


def fit_contents(structure: Structure, sampling: Sampling, n_effective: float) -> Contents:
    """What speaks for a structure.

    sampling : of (slopes, resid); n_effective : rows that independent, equally weighted observations would
    need for the same precision
    """
    d, width = structure.dimension, len(structure.bias)
    curvature = curvature_at(structure)
    values, vectors = np.linalg.eigh(curvature.jacobian.T @ curvature.weighted)
    rotations = d * (d - 1) // 2
    kept, directions = values[rotations:], vectors[:, rotations:]
    root = directions / np.sqrt(np.maximum(kept, 1e-12))
    spare = spare_moments(len(structure.errors) - 1, width, d)
    within = sampling.within(curvature)
    # The trace of what the parameters leave of the curvature, times the covariance.
    left = sampling.trace(curvature) - float(((within @ root) * root).sum())
    scaled = structure.distance * spare / left if spare > 0 and left > 0.0 else 0.0
    return Contents(
        structure=structure,
        curvature=curvature,
        root=root,
        within=within,
        normal_cov=root[-width:] @ root[-width:].T,
        flat=int((kept < FLAT * np.median(kept)).sum()),
        least_information=float(kept[0]) * n_effective,
        spare=spare,
        bic=scaled - spare * float(np.log(n_effective)),
    )


def fit_mimic(contents: Contents, reduced: Reduced, sampling: Sampling) -> MimicFit:
    """Errors and tests of a system, from the sampling error of (slopes, resid)."""
    structure, root = contents.structure, contents.root
    of_bias = root[-len(structure.bias) :] @ root.T
    rest = sampling.unexplained(contents.curvature, root)
    statistic, p = _over_identification(structure.distance, rest.first, rest.second, contents.spare)
    return MimicFit(
        contents=contents,
        bias=structure.bias,
        bias_cov=of_bias @ contents.within @ of_bias.T,
        left=_left_of_proxies(contents),
        left_cov=rest.spread,
        misfit=_misfit(structure, reduced),
        over_statistic=statistic,
        over_df=contents.spare,
        over_p=p,
    )


def _left_of_proxies(contents: Contents) -> Array:
    """(K, q, q) what the parameters leave of the curvature in the slopes of each proxy."""
    of_slopes, width = contents.curvature.of_slopes, len(contents.structure.bias)
    n_proxies = len(of_slopes) - 1
    taken = contents.curvature.weighted[: n_proxies * width] @ contents.root
    taken = taken.reshape(n_proxies, width, -1)
    # The curvature in slopes: one number for each pair of equations, on the diagonal of the basis.
    own = of_slopes.diagonal()[:-1, None, None] * np.eye(width)
    return own - taken @ taken.transpose(0, 2, 1)


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
