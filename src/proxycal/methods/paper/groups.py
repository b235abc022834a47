"""Who is biased: a cut of the score a_hat, oriented by the stated direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from proxycal.errors import SettingsError, TableError
from proxycal.methods.paper.thresholds import TWO_GROUPS_GAIN
from proxycal.mixture.least_squares import least_squares

if TYPE_CHECKING:
    from proxycal.methods.paper.settings import Cut

# A component narrower than this share of the score's spread is a spike on a few tied values, not a group.
NARROWEST = 1e-3
EM_SHORT = 20
EM_STEPS = 500
# Fine enough that merging neighbours moves no digit that matters, few enough for any number of rows.
MAX_POINTS = 10_000
EM_TOLERANCE = 1e-7


@dataclass(frozen=True, slots=True)
class Split:
    """A rule that divides any rows into biased and unbiased.

    threshold : cut on the scale of a_hat
    sign : +1 if the biased rows lie above the threshold, -1 if below
    two_groups : do two Gaussian components describe the score better than one (by BIC)?
    bic_gain : BIC of one component minus BIC of two; above 0 speaks for two groups
    separation : distance of the two means in units of their root mean square sd
    mean, sd : (2,) each, the two components, the lower one first
    """

    threshold: float
    sign: float
    two_groups: bool
    bic_gain: float
    separation: float
    mean: tuple[float, float] = (0.0, 1.0)
    sd: tuple[float, float] = (1.0, 1.0)

    def biased(self, a_hat: np.ndarray) -> np.ndarray:
        """Mask (n,) of the rows on the biased side.

        >>> Split(0.5, -1.0, True, 10.0, 3.0).biased(np.array([0.0, 1.0]))
        array([ True, False])
        """
        return self.sign * (np.asarray(a_hat, dtype=float) - self.threshold) > 0

    def probability(self, a_hat: np.ndarray) -> np.ndarray:
        """P(biased | a_hat), (n,), from the two components: 1/2 at the threshold, never falling beyond it.

        >>> Split(0.5, -1.0, True, 10.0, 1.0).probability(np.array([-9.0, 0.5, 9.0])).round(3).tolist()
        [1.0, 0.5, 0.0]
        """
        (m0, m1), (s0, s1) = self.mean, self.sd
        # Log odds of the upper component, up to a constant: curve * a^2 + slope * a, a parabola unless the
        # widths are equal. Beyond its vertex the wider component would win again on the far side of the
        # narrower one, which is no evidence of the other group: there the odds stay as at the vertex.
        curve, slope = 0.5 / s0**2 - 0.5 / s1**2, m1 / s1**2 - m0 / s0**2
        if 2 * curve * self.threshold + slope <= 0:
            # A median or Otsu cut may lie where the odds fall; then take both widths as equal.
            curve, slope = 0.0, 2 * (m1 - m0) / (s0**2 + s1**2)
        a = np.asarray(a_hat, dtype=float)
        if curve != 0:
            vertex = -slope / (2 * curve)
            a = np.maximum(a, vertex) if curve > 0 else np.minimum(a, vertex)
        log_odds = (a - self.threshold) * (curve * (a + self.threshold) + slope)
        return np.asarray(expit(self.sign * log_odds))


@dataclass(frozen=True, slots=True)
class Mixture:
    """Two Gaussian components, the lower mean first: share, mean, sd (2,) each, and the log likelihood."""

    share: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    log_likelihood: float


def split(
    a_hat: np.ndarray,
    y: np.ndarray,
    cut: Cut = "mixture",
    direction: str = "over",
    weights: np.ndarray | None = None,
    quantile: float = 0.5,
) -> Split:
    """Choose the threshold of a_hat (n,), on validation rows, and say which side is biased.

    y (n,) is the outcome given its content, such as `content_residual(y_obs, z_hat)`: the side with the
    higher mean is the biased one for "over", the lower one for "under". `quantile` is the share of the rows
    on the unbiased side, for cut="quantile".

    >>> a_hat = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 5.2])
    >>> rule = split(a_hat, -a_hat, cut="otsu")
    >>> rule.biased(a_hat).tolist()
    [True, True, True, False, False, False]
    """
    a_hat, y = np.asarray(a_hat, dtype=float), np.asarray(y, dtype=float)
    w = np.ones(len(a_hat)) if weights is None else np.asarray(weights, dtype=float)
    if direction not in ("over", "under"):
        raise SettingsError(f"direction={direction!r} is not known: use 'over' or 'under'.")
    if not a_hat.shape == y.shape == w.shape or a_hat.ndim != 1:
        raise TableError(f"shapes do not fit: a_hat {a_hat.shape}, y {y.shape}, weights {w.shape}.")
    if not (np.isfinite(a_hat).all() and np.isfinite(y).all()):
        raise TableError(
            "the score or the outcome holds values that are not finite: no groups can be formed."
        )
    a_hat, y, w = a_hat[w > 0], y[w > 0], w[w > 0]
    if np.unique(a_hat).size < 2:
        raise TableError("the score a_hat is the same for every row: it holds no two groups to compare.")

    mixture = fit_two_components(a_hat, w)
    # Parameters: 2 against 5, each at the price of log(n); n is the sum of the weights.
    gain = 2 * (mixture.log_likelihood - _one_log_likelihood(a_hat, w)) - 3 * np.log(w.sum())
    if cut == "mixture":
        threshold = _crossing(mixture)
    elif cut == "median":
        threshold = _halves(a_hat, w, 0.5)
    elif cut == "quantile":
        # The score may be turned: which end is the unbiased one, the outcome says.
        threshold = _halves(
            a_hat, w, quantile if _rises(a_hat, y, w) == (direction == "over") else 1 - quantile
        )
    elif cut == "otsu":
        threshold = _otsu(a_hat, w)
    else:
        raise SettingsError(f"cut={cut!r} is not known: use 'mixture', 'median', 'otsu' or 'quantile'.")

    above = a_hat > threshold
    rises = np.average(y[above], weights=w[above]) >= np.average(y[~above], weights=w[~above])
    separation = (mixture.mean[1] - mixture.mean[0]) / np.sqrt(np.mean(mixture.sd**2))
    sign = 1.0 if rises == (direction == "over") else -1.0
    mean, sd = ((float(part[0]), float(part[1])) for part in (mixture.mean, mixture.sd))
    two_groups = bool(gain > TWO_GROUPS_GAIN)
    return Split(float(threshold), sign, two_groups, float(gain), float(separation), mean, sd)


def content_residual(y: np.ndarray, z_hat: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """The outcome y (n,) less what is linear in its content z_hat (n, d).

    >>> abs(content_residual(np.array([1.0, 3.0, 5.0]), np.array([[0.0], [1.0], [2.0]]))).round(9).tolist()
    [0.0, 0.0, 0.0]
    """
    X = np.column_stack([np.ones(len(y)), z_hat])
    return np.asarray(y - X @ least_squares(X, y, weights))


def fit_two_components(a: np.ndarray, w: np.ndarray) -> Mixture:
    """Weighted EM for two Gaussian components, best of five starts.

    scikit-learn's GaussianMixture knows no weights, and its starts depend on the order of the rows.
    """
    a, w = _compressed(a, w)
    cuts = [_quantile(a, w, share) for share in (0.15, 0.3, 0.5, 0.7, 0.85)]
    # The largest score is always above, so that no start has an empty side.
    short = [_em(a, w, np.where(a > min(cut, a[-2]), 1.0, 0.0), EM_SHORT) for cut in cuts]
    _, r = max(short, key=lambda run: run[0].log_likelihood)
    return _em(a, w, r, EM_STEPS)[0]


def _compressed(a: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Equal scores as one weighted score; beyond MAX_POINTS of them, the means of neighbouring ones."""
    values, where = np.unique(a, return_inverse=True)
    mass = np.bincount(where, weights=w)
    if len(values) <= MAX_POINTS:
        return values, mass
    bins = np.minimum((np.cumsum(mass) / mass.sum() * MAX_POINTS).astype(int), MAX_POINTS - 1)
    total = np.bincount(bins, weights=mass, minlength=MAX_POINTS)
    centre = np.bincount(bins, weights=mass * values, minlength=MAX_POINTS)[total > 0] / total[total > 0]
    return centre, total[total > 0]


def _em(a: np.ndarray, w: np.ndarray, r: np.ndarray, steps: int) -> tuple[Mixture, np.ndarray]:
    """EM from responsibilities r (n,) of the upper component; the components and the last r."""
    centre, spread = _moments(a, w)
    x = (a - centre) / spread
    before = -np.inf
    for _ in range(steps):
        mass = np.array([w @ (1 - r), w @ r])
        mean = np.array([w @ ((1 - r) * x), w @ (r * x)]) / mass
        variance = np.array([w @ ((1 - r) * (x - mean[0]) ** 2), w @ (r * (x - mean[1]) ** 2)]) / mass
        sd, share = np.sqrt(np.maximum(variance, NARROWEST**2)), mass / mass.sum()
        logs = np.log(share) - np.log(sd) - 0.5 * ((x[:, None] - mean) / sd) ** 2
        total = np.logaddexp(logs[:, 0], logs[:, 1])
        r = np.clip(np.exp(logs[:, 1] - total), 1e-12, 1 - 1e-12)
        now = w @ total
        if now - before < EM_TOLERANCE * w.sum():
            break
        before = now
    order = np.argsort(mean)
    log_likelihood = now - w.sum() * (np.log(spread) + 0.5 * np.log(2 * np.pi))
    mixture = Mixture(share[order], centre + spread * mean[order], spread * sd[order], float(log_likelihood))
    return mixture, r


def _one_log_likelihood(a: np.ndarray, w: np.ndarray) -> float:
    _, spread = _moments(a, w)
    return float(-w.sum() * (np.log(spread) + 0.5 * np.log(2 * np.pi) + 0.5))


def _crossing(mixture: Mixture) -> float:
    """Where a row is as likely in one component as in the other, between the two means."""
    (m0, m1), (s0, s1), (p0, p1) = mixture.mean, mixture.sd, mixture.share
    # log(p1/s1) - (x-m1)^2/(2 s1^2) = log(p0/s0) - (x-m0)^2/(2 s0^2), a quadratic in x.
    roots = np.roots(
        [
            0.5 / s0**2 - 0.5 / s1**2,
            m1 / s1**2 - m0 / s0**2,
            0.5 * (m0 / s0) ** 2 - 0.5 * (m1 / s1) ** 2 + np.log(p1 * s0 / (p0 * s1)),
        ]
    )
    between = [float(root.real) for root in roots if abs(root.imag) < 1e-9 and m0 < root.real < m1]
    # A wide component can swallow the other mean; then take the point equally many sd from both means.
    return between[0] if len(between) == 1 else float((m0 * s1 + m1 * s0) / (s0 + s1))


def _otsu(a: np.ndarray, w: np.ndarray) -> float:
    """The cut with the largest variance between the groups, halfway between the two values around it."""
    values, where = np.unique(a, return_inverse=True)
    mass = np.bincount(where, weights=w)
    below = np.cumsum(mass)[:-1]
    sums = np.cumsum(mass * (values - values[0]))
    above = mass.sum() - below
    between = below * above * (sums[:-1] / below - (sums[-1] - sums[:-1]) / above) ** 2
    best = int(np.argmax(between))
    return float((values[best] + values[best + 1]) / 2)


def _halves(a: np.ndarray, w: np.ndarray, share: float) -> float:
    """A quantile of the scores, or the gap below the largest one if that is it: no side stays empty."""
    middle = _quantile(a, w, share)
    values = np.unique(a)
    return float((values[-2] + values[-1]) / 2) if middle >= values[-1] else middle


def _rises(a: np.ndarray, y: np.ndarray, w: np.ndarray) -> bool:
    """Whether the outcome is higher where the score is above its middle."""
    above = a > _halves(a, w, 0.5)
    return bool(np.average(y[above], weights=w[above]) >= np.average(y[~above], weights=w[~above]))


def _quantile(a: np.ndarray, w: np.ndarray, share: float) -> float:
    """The smallest value with at least this share of the weight at or below it."""
    order = np.argsort(a, kind="stable")
    reached = np.cumsum(w[order]) >= share * w.sum() * (1 - 1e-12)
    return float(a[order][np.argmax(reached)])


def _moments(a: np.ndarray, w: np.ndarray) -> tuple[float, float]:
    mean = float(w @ a / w.sum())
    return mean, float(np.sqrt(w @ (a - mean) ** 2 / w.sum()))
