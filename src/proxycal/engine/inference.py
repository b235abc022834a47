"""What a fitted model says of the size of the bias, and how sure it is.

The covariance is that of the posterior, or the sandwich of the rows' scores where it is larger in a direction
that is asked for: the first knows the penalties, the second what the model does not describe.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from proxycal.engine.likelihood import evaluated, predictors, scores
from proxycal.engine.search import family_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxycal.engine.families.normal import Normal
    from proxycal.engine.likelihood import Sample
    from proxycal.engine.maximise import Maximum

_STEP = 1e-4


@dataclass(frozen=True, slots=True)
class Sizes:
    """The bias in the engine's units.

    alpha, se : mean size among the biased rows and its standard error. noise : mean sd of what is left of
    unbiased rows. share : of biased rows. alone : part of who is biased that the environment decides.
    """

    alpha: float
    se: float
    noise: float
    share: float
    alone: float

    @property
    def separation(self) -> float:
        """The size in sds of the noise."""
        return self.alpha / self.noise


def posterior(fit: Maximum, sample: Sample) -> np.ndarray:
    """(3, n): P(biased), E[bias | row] and E[bias^2 | row]."""
    return evaluated(fit.model, sample, fit.theta, family_of(fit).posterior)


def mean_size(family: Normal, eta: np.ndarray) -> np.ndarray:
    """Mean size (n,) of the bias of a row that has one, before its report is seen."""
    at = family.names.index
    size = np.exp(eta[at("size")])
    if family.states == 2:
        second = expit(eta[at("second")])
        size = size * (1.0 - second + second * (1.5 + np.exp(eta[at("more")])))
    return np.asarray(size)


def sizes(fit: Maximum, sample: Sample, clusters: np.ndarray | None = None) -> Sizes:
    """The size of the bias with its standard error."""
    family, w = family_of(fit), sample.weights
    eta = predictors(fit.model, sample, fit.theta)
    p = posterior(fit, sample)[0]
    biased = w * p + 1e-12

    def alpha(values: np.ndarray) -> float:
        return float(np.average(mean_size(family, values), weights=biased))

    slope = _slope(fit, sample, eta, alpha)
    chance = expit(eta[family.names.index("who")])
    mean = float(np.average(chance, weights=w))
    doubt = float(np.average(chance * (1.0 - chance), weights=w))
    return Sizes(
        alpha=alpha(eta),
        se=error(fit, sample, slope, clusters),
        noise=float(np.exp(np.average(eta[family.names.index("scale")], weights=w))),
        share=float(np.average(p, weights=w)),
        alone=1.0 - doubt / max(mean * (1.0 - mean), 1e-9),
    )


def _slope(fit: Maximum, sample: Sample, eta: np.ndarray, value: Callable[[np.ndarray], float]) -> np.ndarray:
    """How a number that depends on the predictors of size moves with all coefficients (k,)."""
    slope = np.zeros(fit.model.width)
    for name in ("size", "more", "second"):
        if name not in fit.model.names:
            continue
        at = fit.model.names.index(name)
        for place, column in zip(
            range(*fit.model.at(name).indices(fit.model.width)), sample.designs[at].T, strict=True
        ):
            moved = np.zeros_like(eta)
            moved[at] = _STEP * column
            slope[place] = (value(eta + moved) - value(eta - moved)) / (2.0 * _STEP)
    return slope


def error(fit: Maximum, sample: Sample, slope: np.ndarray, clusters: np.ndarray | None = None) -> float:
    """Standard error of a number with this slope (k,) in the coefficients."""
    toward = fit.covariance @ slope
    of_rows = (scores(fit.model, sample, fit.theta) @ toward) * sample.weights
    if clusters is not None:
        of_rows = np.bincount(clusters, weights=of_rows)
    return float(np.sqrt(max(slope @ toward, of_rows @ of_rows)))


def covariance_of(fit: Maximum, sample: Sample, clusters: np.ndarray | None = None) -> np.ndarray:
    """Covariance (k, k) of the coefficients, from the scores of the rows."""
    of_rows = scores(fit.model, sample, fit.theta) * sample.weights[:, None]
    if clusters is not None:
        of_rows = sums_of(of_rows, clusters)
    return widest(fit.covariance, of_rows.T @ of_rows)


def widest(covariance: np.ndarray, meat: np.ndarray) -> np.ndarray:
    """In every direction the larger of the posterior's covariance and the sandwich, (k, k).

    With V = LL' the posterior's, the sandwich is L M L'; the eigenvalues of M below 1 are raised to 1.
    """
    values, vectors = np.linalg.eigh(covariance)
    L = vectors * np.sqrt(np.maximum(values, 0.0))
    stretch, axes = np.linalg.eigh(L.T @ meat @ L)
    wide = (L @ axes) * np.sqrt(np.maximum(stretch, 1.0))
    return np.asarray(wide @ wide.T)


def sums_of(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Sums (G, k) of values (n, k) over groups (n,) of rows."""
    out = np.zeros((int(groups.max()) + 1, values.shape[1]))
    np.add.at(out, groups, values)
    return out
