"""Content, proxies and a graded bias as one system, by quasi-likelihood from sufficient statistics.

    y = c + lambda'Z + b'B(E) + eps,   P = m + W Z + u,   Z | E ~ (Gamma B(E), I_d)

so that with Lambda = (W; lambda') the reduced form is

    slopes = Lambda Gamma + e_y b',    resid = Lambda Lambda' + Psi        (Psi diagonal)

Only first and second moments are used, so the errors need not be normal; their covariance is estimated from
the rows (clusters included). Z is known up to a rotation, b is not affected by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import optimize

from proxycal.mixture.least_squares import least_squares
from proxycal.tails import chi2_sf

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.methods.gradual.moments import Reduced

    Array = NDArray[np.float64]

# Error variances stay above this share of the residual variance: at zero the likelihood has no maximum.
LEAST_ERROR = 1e-3
# A direction whose information is below this share of the median is flat: two values fit alike.
FLAT = 1e-4
# Relative change of the likelihood at which a search ends. The coarse one only tells whether its start leads
# to a better maximum than the first.
FINE, COARSE = 1e-14, 1e-7


@dataclass(frozen=True, slots=True)
class Structure:
    """A fitted system, in the units of `Reduced` (whitened basis, residual standard deviations).

    loadings : (K + 1, d), the outcome last; errors : (K + 1,) = diag Psi
    gamma : (d, q); bias : (q,) = b; distance : fit less the saturated fit, >= 0, per row
    """

    loadings: Array
    errors: Array
    gamma: Array
    bias: Array
    distance: float

    @property
    def dimension(self) -> int:
        """d, the number of contents."""
        return self.loadings.shape[1]

    @property
    def implied(self) -> Array:
        """(K + 1, K + 1) implied residual covariance."""
        return self.loadings @ self.loadings.T + np.diag(self.errors)


@dataclass(frozen=True, slots=True)
class MimicFit:
    """A system with its errors and tests.

    bias, bias_cov : (q,), (q, q) in the whitened basis, outcome in residual standard deviations
    normal_cov : (q, q) shape of bias_cov if errors were normal and rows independent, of one row
    curvature : of the likelihood in slopes and in resid; weighted, projection : (p, k), (k, p), what the
    parameters take of it is their product
    spread : (p, p) what they leave of it, times covariance
    misfit : (p,) observed less implied (slopes, resid)
    flat : flat directions beyond the d(d-1)/2 rotations of content
    least_information : of the least determined direction, rotations aside: 1 / its variance
    over_p, over_df : over-identification test, robust; over_df = 0 where nothing is left to test
    bic : information criterion on the robust scale; the smallest is best
    """

    structure: Structure
    bias: Array
    bias_cov: Array
    normal_cov: Array
    curvature: tuple[Array, Array]
    weighted: Array
    projection: Array
    spread: Array
    misfit: Array
    flat: int
    least_information: float
    over_statistic: float
    over_df: int
    over_p: float
    bic: float

    def left_of(self, proxy: int) -> Array:
        """(p, q) what the parameters leave of the curvature, in the columns of the slopes of one proxy."""
        of_slopes, width = self.curvature[0], len(self.bias)
        left = -self.weighted @ self.projection[:, proxy * width : (proxy + 1) * width]
        # The curvature in slopes: one number for each pair of equations, on the diagonal of the basis.
        own = left[: len(of_slopes) * width].reshape(len(of_slopes), width, width)
        own += of_slopes[:, proxy, None, None] * np.eye(width)
        return left


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


def fit_structure(reduced: Reduced, d: int) -> Structure:
    """Maximise the quasi-likelihood for d contents."""
    k1 = len(reduced.scale)
    saturated = np.linalg.slogdet(reduced.resid)[1] + k1
    if d == 0:  # closed form: every covariance and every slope of a proxy is left unexplained
        errors = 1.0 + np.append((reduced.slopes[:-1] ** 2).sum(axis=1), 0.0)
        gamma = np.zeros((0, reduced.slopes.shape[1]))
        distance = float(np.log(errors).sum()) + k1 - saturated
        return Structure(np.zeros((k1, 0)), errors, gamma, reduced.slopes[-1].copy(), distance)
    observed = reduced.resid, reduced.slopes[:-1] @ reduced.slopes[:-1].T
    first, second = _starts(reduced, d)
    best = _search(first, observed, d, FINE)
    other = _search(second, observed, d, COARSE)
    if other.fun < best.fun - 1e-9:
        best = _search(other.x, observed, d, FINE)
    loadings, errors = _unpack(best.x, k1, d)
    gamma = _proxy_weights(loadings, errors) @ reduced.slopes[:-1]
    bias = reduced.slopes[-1] - loadings[-1] @ gamma
    return Structure(loadings, errors, gamma, bias, max(float(best.fun) - saturated, 0.0))


def _search(start: Array, observed: tuple[Array, Array], d: int, tolerance: float) -> optimize.OptimizeResult:
    k1 = len(observed[0])
    return optimize.minimize(
        objective,
        start,
        args=(*observed, d),
        jac=True,
        method="L-BFGS-B",
        bounds=[(None, None)] * (k1 * d) + [(LEAST_ERROR, 10.0)] * k1,
        options={"maxiter": 2000, "maxfun": 4000, "ftol": tolerance, "gtol": 1e-8, "maxcor": 30},
    )


def _unpack(values: Array, k1: int, d: int) -> tuple[Array, Array]:
    return values[: k1 * d].reshape(k1, d), values[k1 * d :]


def _proxy_weights(loadings: Array, errors: Array) -> Array:
    """(d, K) the generalised least-squares fit of Gamma to the proxies' slopes, given Lambda and Psi.

    b frees the slopes of the outcome, so that Gamma is the best fit of W Gamma ~ slopes_P; its weight
    Sigma_PP^-1 may be replaced by Psi_P^-1. The closed form leaves (Lambda, Psi) to search over, however many
    columns the basis has.
    """
    weighted = loadings[:-1] / errors[:-1, None]
    gram = weighted.T @ loadings[:-1] + 1e-10 * np.eye(loadings.shape[1])
    return np.asarray(np.linalg.solve(gram, weighted.T))


def objective(values: Array, resid: Array, between: Array, d: int) -> tuple[float, Array]:
    """log|Sigma| + tr(Sigma^-1 M), M = resid + gap gap', and its gradient (by the envelope theorem).

    between : (K, K) = slopes_P slopes_P'. The gap W Gamma - slopes_P is orthogonal to W in the metric Psi^-1,
    so that the outcome has none and Sigma^-1 gap = Psi^-1 gap; of the slopes only `between` is needed.
    """
    loadings, errors = _unpack(values, len(resid), d)
    proxies, precision = loadings[:-1], 1.0 / errors
    weights = _proxy_weights(loadings, errors)
    left = between - proxies @ (weights @ between)
    gap_squared = left - (left @ weights.T) @ proxies.T
    # Sigma^-1 and |Sigma| through the d x d matrix I + Lambda' Psi^-1 Lambda.
    weighted = loadings * precision[:, None]
    root = np.linalg.cholesky(np.eye(d) + loadings.T @ weighted)
    half = np.linalg.solve(root, weighted.T)
    inverse = np.diag(precision) - half.T @ half
    value = np.log(errors).sum() + 2.0 * np.log(root.diagonal()).sum() + (inverse * resid).sum()
    value += precision[:-1] @ gap_squared.diagonal()
    toward = inverse - inverse @ resid @ inverse
    toward[:-1, :-1] -= gap_squared * np.outer(precision[:-1], precision[:-1])
    by_loadings = toward @ loadings
    by_loadings[:-1] -= (left @ weights.T) * precision[:-1, None]
    return float(value), np.concatenate([2.0 * by_loadings.ravel(), toward.diagonal()])


def _starts(reduced: Reduced, d: int) -> tuple[Array, Array]:
    """Loadings from the leading directions of what proxies share given E, and of that and what E moves."""
    k1 = len(reduced.scale)
    between = reduced.slopes[:-1] @ reduced.slopes[:-1].T
    within = reduced.resid[:-1, :-1]
    errors = np.full(k1, 0.5)
    starts = []
    for mixture in (within, 0.5 * within + between):
        values, vectors = np.linalg.eigh(mixture)
        loadings = vectors[:, ::-1][:, :d] * np.sqrt(0.6 * np.maximum(values[::-1][:d], 0.1))
        size = np.sqrt(np.maximum((loadings**2).sum(axis=1), 1e-6))
        loadings *= np.minimum(1.0, 0.9 / size)[:, None]
        outcome = least_squares(loadings, reduced.resid[:-1, -1])
        outcome *= min(1.0, 0.9 / max(float(np.linalg.norm(outcome)), 1e-6))
        starts.append(np.concatenate([np.vstack([loadings, outcome]).ravel(), errors]))
    return starts[0], starts[1]


def fit_mimic(reduced: Reduced, d: int, covariance: Array, n_effective: float) -> MimicFit:
    """Fit d contents; errors and tests from the sampling covariance (p, p) of (slopes, resid).

    n_effective : rows that independent, equally weighted observations would need for the same precision
    """
    structure = fit_structure(reduced, d)
    slopes_of_moments = jacobian(structure)
    curvature = _normal_curvature(structure)
    weighted = times_curvature(curvature, slopes_of_moments)
    information = slopes_of_moments.T @ weighted
    values, vectors = np.linalg.eigh(information)
    rotations = d * (d - 1) // 2
    kept, directions = values[rotations:], vectors[:, rotations:]
    flat = int((kept < FLAT * np.median(kept)).sum())
    inverse = (directions / np.maximum(kept, 1e-12)) @ directions.T
    projection = inverse @ weighted.T
    width = len(structure.bias)
    influence = projection[-width:]
    spread = times_curvature(curvature, covariance) - weighted @ (projection @ covariance)
    spare = spare_moments(len(reduced.scale) - 1, width, d)
    statistic, p, scaled = _over_identification(structure.distance, spread, spare)
    return MimicFit(
        structure=structure,
        bias=structure.bias,
        bias_cov=influence @ covariance @ influence.T,
        normal_cov=inverse[-width:, -width:],
        curvature=curvature,
        weighted=weighted,
        projection=projection,
        spread=spread,
        misfit=_misfit(structure, reduced),
        flat=flat,
        least_information=float(kept[0]) * n_effective,
        over_statistic=statistic,
        over_df=spare,
        over_p=p,
        bic=scaled - spare * np.log(n_effective),
    )


def _misfit(structure: Structure, reduced: Reduced) -> Array:
    slopes = structure.loadings @ structure.gamma
    slopes[-1] += structure.bias
    lower = np.tril_indices(len(reduced.scale))
    return np.append((reduced.slopes - slopes).ravel(), (reduced.resid - structure.implied)[lower])


def _over_identification(distance: float, spread: Array, spare: int) -> tuple[float, float, float]:
    """Likelihood ratio, its p-value and its value on the chi-square scale, whatever the errors and clusters.

    Under the model `distance` is a quadratic form in the sampling error of (slopes, resid), distributed as
    sum_j l_j chi2_1 with l_j the eigenvalues of `spread`. Matching its mean and variance
    (Satterthwaite; Satorra and Bentler 1994) needs two traces and no inverse of a covariance that few
    clusters cannot determine.
    """
    if spare <= 0:
        return 0.0, 1.0, 0.0
    first, second = float(np.trace(spread)), float(np.sum(spread * spread.T))
    if first <= 0.0 or second <= 0.0:
        return 0.0, 1.0, 0.0
    statistic = distance * first / second
    return statistic, float(chi2_sf(statistic, first**2 / second)), distance * spare / first


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
