"""What validated rows show of the errors: one size, sizes that vary, everybody a little, or none.

gap = s * (report - truth)        s = +1 over, -1 under: a bias of the stated direction is positive
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import ndtr
from sklearn.mixture import GaussianMixture

from proxycal.effect.uncertainty import normal_interval
from proxycal.result import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Shape = Literal["none", "one size", "two sizes", "sizes that vary", "continuous"]

# Kinds of gap that are tried, by BIC; a kind narrower than this share of the sd of all gaps is a spike.
MOST_KINDS, NARROWEST = 3, 1e-3
# A kind is unbiased where its mean is below this part of the largest mean.
UNBIASED_PART = 0.35
# Spread of the bias beyond the noise of unbiased reports, over its mean, up to which it has one size.
ONE_SIZE_CV = 0.2
# Below this p the size grows, or falls, with the true value.
GROWS_P = 0.001


@dataclass(frozen=True, slots=True)
class GapReading:
    """The errors of n validated rows in words and numbers.

    mean, mean_se : of all gaps, design-weighted. alpha, alpha_se : mean gap of the biased, share : of rows.
    cv : spread of the bias over its mean. slope, slope_p : change of the size per unit of the true value
    among the biased. noise : sd of the gaps of unbiased rows; NaN where there are none.
    """

    n: int
    shape: Shape
    mean: float
    mean_se: float
    alpha: float
    alpha_se: float
    share: float
    cv: float
    slope: float
    slope_p: float
    noise: float

    @property
    def t(self) -> float:
        """Mean gap in standard errors; infinite for a gap that never varies."""
        if self.mean_se > 0.0:
            return self.mean / self.mean_se
        return math.copysign(math.inf, self.mean) if self.mean else 0.0

    @property
    def grows(self) -> bool:
        """Whether the size depends on the true value."""
        return self.slope_p < GROWS_P

    def interval(self, level: float) -> tuple[float, float]:
        """Interval of alpha."""
        low, high = normal_interval(self.alpha, self.alpha_se, level)
        return max(low, 0.0), high

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> GapReading:
        """The reverse of `result.plain`."""
        known: dict[str, Any] = {"n": int(values["n"]), "shape": values["shape"]}
        return cls(**known | {f.name: number(values[f.name]) for f in fields(cls) if f.name not in known})


def read_gaps(gap: Array, truth: Array, w: Array, seed: int = 0) -> GapReading:
    """Read the gaps (n,) of validated rows with true values (n,) and design weights (n,).

    >>> rng = np.random.default_rng(0)
    >>> gap = 0.1 * rng.normal(size=300) + np.where(rng.random(300) < 0.3, 4.0, 0.0)
    >>> reading = read_gaps(gap, rng.normal(size=300), np.ones(300))
    >>> reading.shape, round(reading.alpha, 1), round(reading.share, 1), reading.grows
    ('one size', 4.0, 0.3, False)
    """
    n, mean = len(gap), float(np.average(gap, weights=w))
    mean_se = float(np.sqrt(n / (n - 1) * np.sum(w**2 * (gap - mean) ** 2))) / float(w.sum())
    r, means = _kinds(gap, seed)
    size = np.abs(means)
    own = r.argmax(axis=1)
    unbiased = int(size.argmin())
    if len(means) == 1 or size[unbiased] > UNBIASED_PART * size.max():
        # No group of unbiased rows: everybody has an error.
        biased, noise = np.ones(n), math.nan
    else:
        biased = 1.0 - r[:, unbiased]
        noise = float(gap[own == unbiased].std()) if (own == unbiased).any() else 0.0
    mass = w * biased
    share = float(mass.sum() / w.sum())
    alpha = float(mass @ gap / mass.sum())
    alpha_se = float(np.sqrt(np.sum(mass**2 * (gap - alpha) ** 2)) / mass.sum())
    spread = float(mass @ (gap - alpha) ** 2 / mass.sum())
    cv = math.sqrt(max(spread - (0.0 if math.isnan(noise) else noise**2), 0.0)) / max(abs(alpha), 1e-300)
    slope, slope_p = _growth(gap, truth, mass)
    shape = _shape(mean, mean_se, noise, cv, len(means), alpha)
    return GapReading(n, shape, mean, mean_se, max(alpha, 0.0), alpha_se, share, cv, slope, slope_p, noise)


def _shape(mean: float, mean_se: float, noise: float, cv: float, kinds: int, alpha: float) -> Shape:
    if math.isnan(noise):
        return "continuous" if abs(mean) > 2.0 * mean_se else "none"
    if alpha <= 0.0:
        return "none"
    if cv <= ONE_SIZE_CV:
        return "one size"
    return "two sizes" if kinds == MOST_KINDS and cv < 1.0 else "sizes that vary"


def _kinds(gap: Array, seed: int) -> tuple[Array, Array]:
    """Responsibilities (n, K) and means (K,) of the normal mixture of least BIC."""
    sd = float(gap.std())
    if sd == 0.0:
        return np.ones((len(gap), 1)), gap[:1]
    column = (gap / sd)[:, None]
    # Reports without noise have gaps of a few values, which make no more kinds than they are.
    most = max(1, min(MOST_KINDS, len(gap) // 10, len(np.unique(np.round(column, 9)))))
    fitted = [
        GaussianMixture(k, reg_covar=NARROWEST**2, n_init=2, random_state=seed).fit(column)
        for k in range(1, most + 1)
    ]
    best = min(fitted, key=lambda mixture: float(mixture.bic(column)))
    return best.predict_proba(column), best.means_[:, 0] * sd


def _growth(gap: Array, truth: Array, mass: Array) -> tuple[float, float]:
    """Slope of the gap on the true value among the biased, and its p-value with robust errors."""
    few = float(mass.sum()) ** 2 / float(np.sum(mass**2)) < 10
    centred = truth - float(mass @ truth / mass.sum())
    size = float(mass @ centred**2)
    if few or size <= 0.0:
        return 0.0, 1.0
    slope = float(mass @ (centred * gap)) / size
    left = gap - float(mass @ gap / mass.sum()) - slope * centred
    se = float(np.sqrt(np.sum((mass * centred * left) ** 2))) / size
    return slope, float(2.0 * ndtr(-abs(slope) / se)) if se > 0.0 else 0.0
