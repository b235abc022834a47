"""Whether new rows have the bias of the fitted ones: a likelihood ratio against "same as before".

    r   how far a report lies from what the fit expects of an unbiased one;  s  the size it expects, signed
    w   chance of a bias that the environment gives, logit w = who + d

    f(r) = (1 - w) f0((r - m) / e^k) / e^k  +  w f0((r - m - c s) / e^k) / e^k

d is a change of how often, c of how much. "Same as before": fitted and new rows share d and c; otherwise each
has its own, two parameters more. m and k, a drift of what the content itself says, are each set's own either
way, so that such a drift is not taken for a change of the bias. f0 is the law of the fitted rows once their
bias is taken out, without a shape assumed. The ratio is divided by how much more the scores vary than they
would if all of this held (rows of a cluster, other laws).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize
from scipy.special import expit

from proxycal.tails import chi2_sf, f_sf

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# New rows below which nothing is said: a ratio is chi-squared for many rows only.
LEAST_ROWS = 30
# f0 is known on this grid, in sds; a few in a hundred have long tails, so that no single row decides.
REACH, STEPS, STRAY = 12.0, 2401, 0.02
# What m (sds), k, d and c may be.
BOUNDS = ((-1.5, 1.5), (-0.7, 0.7), (-6.0, 6.0), (0.0, 6.0))
# Where the search for new rows starts: sizes as before, smaller, larger.
STARTS = (1.0, 0.4, 2.0)
_BIAS = slice(2, 4)


@dataclass(frozen=True, slots=True)
class BiasRows:
    """n rows as a fit sees them, all arrays (n,).

    off : report less what is expected without a bias. size : of a bias, with its sign. who : log odds of one,
    by the environment. weights : rows that each stands for. cluster : codes, or None.
    """

    off: Floats
    size: Floats
    who: Floats
    weights: Floats
    cluster: NDArray[np.int64] | None


@dataclass(frozen=True, slots=True)
class BiasChange:
    """New rows beside the fitted ones.

    ratio : twice the log likelihood ratio, scaled. p : of "same as before"; 1 where there are too few rows.
    size, size_se : the size of a bias in the new rows, as a multiple of that in the fitted ones. odds : of
    being biased, likewise, other things being equal.
    """

    ratio: float
    p: float
    size: float
    size_se: float
    odds: float


@dataclass(frozen=True, slots=True)
class Law:
    """The log density of what is left of an unbiased report, in units of `sd`."""

    spline: CubicSpline
    sd: float

    @classmethod
    def of(cls, rows: BiasRows, p: Floats) -> Law:
        """The law of rows that are biased with probability p (n,), each with its bias taken out.

        >>> rng = np.random.default_rng(0)
        >>> even = np.ones(4000)
        >>> law = Law.of(BiasRows(rng.normal(size=4000), even, even, even, None), 0.0 * even)
        >>> bool(abs(law(np.zeros(1))[0][0] + 0.92) < 0.1)
        True
        """
        values = np.concatenate([rows.off, rows.off - rows.size])
        mass = np.concatenate([(1.0 - p) * rows.weights, p * rows.weights])
        mass = mass / mass.sum()
        middle = float(mass @ values)
        sd = float(np.sqrt(mass @ (values - middle) ** 2))
        grid = np.linspace(-REACH, REACH, STEPS)
        step = grid[1] - grid[0]
        place = np.clip((values / sd + REACH) / step, 0.0, STEPS - 1.001)
        low = place.astype(np.intp)
        part = place - low
        counts = np.bincount(low, mass * (1.0 - part), STEPS) + np.bincount(low + 1, mass * part, STEPS)
        width = 0.9 * float((rows.weights.sum() ** 2 / (rows.weights**2).sum()) ** -0.2)
        kernel = np.exp(-0.5 * (np.arange(-4.0 * width, 4.0 * width + step, step) / width) ** 2)
        density = np.convolve(counts, kernel / kernel.sum(), "same") / step
        stray = 0.1838 * (1.0 + (grid / 2.0) ** 2 / 3.0) ** -2  # a t of 3 degrees, twice as wide
        return cls(CubicSpline(grid, np.log((1.0 - STRAY) * density + STRAY * stray)), sd)

    def __call__(self, u: Floats) -> tuple[Floats, Floats]:
        """The log density at u, in sds, and its slope; a straight line beyond the grid."""
        inside = np.clip(u, -REACH, REACH)
        slope = self.spline(inside, 1)
        return self.spline(inside) + slope * (u - inside), slope


def log_odds_of(columns: Floats, p: Floats, weights: Floats, pull: float = 1e-4) -> Floats:
    """Slopes (1 + 2k,) of the log odds of p (n,) in 1, the columns (n, k) and their squares.

    pull : to slopes of 0, in units of the weights. Some is needed: a level without a biased row has log odds
    that are finite.

    >>> x = np.linspace(-2.0, 2.0, 200)[:, None]
    >>> log_odds_of(x, expit(0.5 + x[:, 0]), np.ones(200))[:2].round(2).tolist()
    [0.5, 1.0]
    """
    x = with_squares(columns)
    slopes = np.zeros(x.shape[1])
    ridge = pull * weights.sum() * np.eye(x.shape[1])
    ridge[0, 0] = 0.0
    for _ in range(50):
        chance = expit(x @ slopes)
        own = weights * np.maximum(chance * (1.0 - chance), 1e-6)
        step = np.linalg.solve(
            (x * own[:, None]).T @ x + ridge, x.T @ (weights * (p - chance)) - ridge @ slopes
        )
        slopes = slopes + np.clip(step, -2.0, 2.0)
        if np.abs(step).max() < 1e-8:
            break
    return slopes


def with_squares(columns: Floats) -> Floats:
    """One, the columns (n, k), and their squares where those differ."""
    return np.column_stack([np.ones(len(columns)), columns, columns**2])


def compare_bias(old: BiasRows, new: BiasRows, law: Law) -> BiasChange:
    """The likelihood ratio of two biases against one."""
    if min(_independent(old), _independent(new)) < LEAST_ROWS:
        return BiasChange(0.0, 1.0, np.nan, np.nan, np.nan)
    own_old, value_old = _best([old], law, (1.0,))
    own_new, value_new = _best([new], law, STARTS)
    value = _best([old, new], law, STARTS)[1]
    ratio = max(2.0 * (value_old + value_new - value), 0.0)
    # The fitted rows say how much the scores vary: they are many, and their bias is known to be there.
    expected, seen = _spreads(old, law, own_old)
    scale = max(float(np.trace(np.linalg.solve(expected, seen))) / 2.0, 1.0)
    unit = max(float(own_old[3]), 1e-6)
    size = float(own_new[3]) / unit
    variance = (_spreads(new, law, own_new)[1][1, 1] + size**2 * seen[1, 1]) / unit**2
    statistic = ratio / scale
    p = chi2_sf(statistic, 2)
    if old.cluster is not None and new.cluster is not None:
        groups = min(len(np.unique(old.cluster)), len(np.unique(new.cluster)))
        p = f_sf(statistic / 2.0, 2, max(groups - 1.0, 1.0))
    odds = float(np.exp(np.clip(own_new[2] - own_old[2], -6.0, 6.0)))
    return BiasChange(statistic, float(p), size, float(np.sqrt(variance)), odds)


def _independent(rows: BiasRows) -> float:
    if rows.cluster is not None:
        return float(len(np.unique(rows.cluster)))
    return float(rows.weights.sum() ** 2 / (rows.weights**2).sum())


def _best(sets: list[BiasRows], law: Law, starts: tuple[float, ...]) -> tuple[Floats, float]:
    """The most likely (m, k) of each set with (d, c) of all, and the log likelihood there."""

    def minus(theta: Floats) -> tuple[float, Floats]:
        value, slope = 0.0, np.zeros_like(theta)
        for i, rows in enumerate(sets):
            own = np.r_[2 * i, 2 * i + 1, len(theta) - 2, len(theta) - 1]
            logs, scores = _terms(rows, law, theta[own])
            value -= float(rows.weights @ logs)
            slope[own] -= rows.weights @ scores
        return value, slope

    bounds = [*BOUNDS[:2]] * len(sets) + [*BOUNDS[2:]]
    done = [
        minimize(minus, np.r_[np.zeros(2 * len(sets) + 1), c], jac=True, method="L-BFGS-B", bounds=bounds)
        for c in starts
    ]
    best = min(done, key=lambda each: float(each.fun))
    return np.asarray(best.x), -float(best.fun)


def _terms(rows: BiasRows, law: Law, theta: Floats) -> tuple[Floats, Floats]:
    """Log likelihood (n,) of each row, and its slopes (n, 4) in m, k, d and c."""
    m, k, d, c = theta
    wide = law.sd * np.exp(k)
    u0 = (rows.off - m * law.sd) / wide
    u1 = u0 - c * rows.size / wide
    (log0, slope0), (log1, slope1) = law(u0), law(u1)
    who = rows.who + d
    first, second = log0 - np.logaddexp(0.0, who), log1 - np.logaddexp(0.0, -who)
    logs = np.logaddexp(first, second)
    q = np.exp(second - logs)
    place = (1.0 - q) * slope0 + q * slope1
    width = (1.0 - q) * u0 * slope0 + q * u1 * slope1
    scores = [-place * law.sd / wide, -1.0 - width, q - expit(who), -q * slope1 * rows.size / wide]
    return logs - np.log(wide), np.column_stack(scores)


def _spreads(rows: BiasRows, law: Law, theta: Floats) -> tuple[Floats, Floats]:
    """Covariance (2, 2) of d and c if all held, and as the scores are seen to vary."""

    def slope(at: Floats) -> Floats:
        return np.asarray(rows.weights @ _terms(rows, law, at)[1])

    step = 1e-3 * np.eye(4)
    hessian = np.array([(slope(theta - h) - slope(theta + h)) / 2e-3 for h in step])
    values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.T))
    # A direction in which the rows say nothing is as wide as the bounds, not infinitely so.
    inverse = (vectors / np.maximum(values, 0.1)) @ vectors.T
    scores = rows.weights[:, None] * _terms(rows, law, theta)[1]
    if rows.cluster is not None:
        summed = np.zeros((int(rows.cluster.max()) + 1, 4))
        np.add.at(summed, rows.cluster, scores)
        scores = summed[np.unique(rows.cluster)]
    scores = scores - scores.mean(axis=0)
    robust = inverse @ (scores.T @ scores) @ inverse
    return inverse[_BIAS, _BIAS], robust[_BIAS, _BIAS]
