"""Content as several proxies see it, and whether E moves something beside it.

Noisy proxies leave some content to E, so a regression on them gives E a slope where it has none. Some of the
proxies stand for content, the others are their instruments: then it has not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from proxycal.methods.checks.wald import count_clusters, meat, wald_p
from proxycal.mixture.features import orthonormal
from proxycal.mixture.least_squares import least_squares
from proxycal.mixture.minimise import minimise
from proxycal.tails import chi2_sf

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# Canonical correlations of two sets of proxies are content only if chance has none so large.
SHARED = 1e-3
# Below this p the proxies that stand for content do not hold all of it.
UNHELD = 0.01
# Proxies looked at: every split of more is too many.
MOST = 8
# Least log of a unique variance; steps of the search for them at the most, gain and slope where it ends.
LEAST_LOG_PSI, SEARCH = -12.0, (200, 1e-9, 1e-6)


@dataclass(frozen=True, slots=True)
class Given:
    """Proxies given the environment, all times the root of the weights.

    root (n,); ones (n,r): orthonormal columns of the environment, the constant first; along (r,p): slopes of
    the proxies on them; left (n,p): what they leave of the proxies; gram (p,p): its products.
    """

    root: Array
    ones: Array
    along: Array
    left: Array
    gram: Array

    @classmethod
    def of(cls, P: Array, E: Array, weights: Array) -> Given:
        """From proxies (n,p) and environment (n,q)."""
        root = np.sqrt(weights)
        basis = orthonormal(E, weights)
        ones = basis.rotated(E) * (root / np.sqrt(weights.sum()))[:, None]
        P = P * root[:, None]
        along = ones.T @ P
        left = P - ones @ along
        # What the environment tells exactly is nothing but rounding.
        left[:, (left**2).sum(axis=0) <= 1e-16 * (P**2).sum(axis=0)] = 0.0
        return cls(root, ones, along, left, left.T @ left)

    @property
    def degrees(self) -> int:
        """Rows less columns."""
        return len(self.root) - self.ones.shape[1]

    @property
    def seen(self) -> list[int]:
        """Proxies of which something is left."""
        return [int(k) for k in np.flatnonzero(self.gram.diagonal() > 0.0)]

    @property
    def corr(self) -> Array:
        """Correlations of the proxies, (p,p)."""
        scale = np.sqrt(self.gram.diagonal())
        scale[scale == 0.0] = 1.0
        return np.asarray(self.gram / scale / scale[:, None])


def direct_p(
    y_cal: Array,
    P: Array,
    E: Array,
    p_biased: Array,
    bias: float,
    se: float,
    weights: Array,
    cluster: NDArray[np.int64] | None = None,
) -> float:
    """The p-value of "E has no slope beside content", two-stage least squares; NaN where it cannot be asked.

    That is where proxies share no content, where those that stand for it do not hold all of it (Sargan's
    test of the instruments), and where too little is known of who is biased.
    """
    given = Given.of(P, E, weights)
    chosen = content_proxies(given)
    if not chosen:
        return float("nan")
    stages = _Stages.of(given, chosen, [k for k in range(P.shape[1]) if k not in chosen])
    along, left = stages.slopes(*_split(given, y_cal))
    more = inflation(p_biased, bias, float(left @ left / weights.sum()), E, weights)
    if not np.isfinite(more):
        return float("nan")
    of_p = stages.slopes(*_split(given, p_biased))[0] * (se if np.isfinite(se) else 0.0)
    return stages.direct_p(along, left, more, np.outer(of_p, of_p), cluster)


def _split(given: Given, y: Array) -> tuple[Array, Array]:
    """Slopes of a column on the environment, (r,), and what that leaves of it, (n,)."""
    y = y * given.root
    along = given.ones.T @ y
    return along, y - given.ones @ along


@dataclass(frozen=True, slots=True)
class _Stages:
    """Two-stage least squares on the environment and some proxies, whose instruments are the others.

    held, others (n,r), (n,k): both kinds of proxies given the environment; seen (n,r): the former as the
    latter see them; inner (r,r): inverse of its products; along (q,r): slopes of the held ones on E.
    """

    given: Given
    held: Array
    others: Array
    seen: Array
    inner: Array
    along: Array

    @classmethod
    def of(cls, given: Given, chosen: list[int], others: list[int]) -> _Stages:
        told = _inverse(given.gram[np.ix_(others, others)]) @ given.gram[np.ix_(others, chosen)]
        instruments = given.left[:, others]
        seen = instruments @ told
        inner = _inverse(told.T @ given.gram[np.ix_(others, chosen)])
        return cls(given, given.left[:, chosen], instruments, seen, inner, given.along[:, chosen])

    def slopes(self, along: Array, left: Array) -> tuple[Array, Array]:
        """Slopes of a column on E, (q,), and what all leaves of it, (n,), from `_split`."""
        of_held = self.inner @ (self.seen.T @ left)
        return (along - self.along @ of_held)[1:], left - self.held @ of_held

    def direct_p(
        self, slopes: Array, left: Array, more: float, beside: Array, cluster: NDArray[np.int64] | None
    ) -> float:
        """The p-value of "no slope on E"; more, beside (q,q) : what else their covariance is due to."""
        spare = self.others.shape[1] - self.held.shape[1]
        if spare > 0:
            extra = self.others[:, :spare]
            extra = extra - self.seen @ (self.inner @ (self.seen.T @ extra))
            if instruments_p(left, extra, cluster, more) < UNHELD:
                return float("nan")
        moves = self.given.ones[:, 1:] - self.seen @ (self.inner @ self.along[1:].T)
        cov = more * meat(moves * left[:, None], cluster) + beside
        return wald_p(slopes, cov, count_clusters(cluster))


def _inverse(gram: Array) -> Array:
    return np.asarray(np.linalg.pinv(gram, rcond=1e-12, hermitian=True))


def inflation(p_biased: Array, bias: float, left: float, E: Array, weights: Array) -> float:
    """How much wider slopes are than with y_cal taken as data, whose p_biased knows these slopes.

    Louis: of what the slopes, and the gate, would be told if A were seen, the shares f and g are missing, and
    missing together, as one A hides from both. left : mean square of y_cal, less than the noise by f of
    it. NaN where next to nothing is left.
    """
    unsure = float(np.average(p_biased * (1.0 - p_biased), weights=weights))
    hidden = bias**2 * unsure
    if not hidden > 0.0:
        return 1.0
    ones = np.column_stack([np.ones(len(E)), E])
    spread = p_biased - ones @ least_squares(ones, p_biased, weights)
    f, g = hidden / (left + hidden), unsure / (unsure + float(np.average(spread**2, weights=weights)))
    return (1.0 + f / (1.0 - f - g)) / (1.0 - f) if f + g < 0.9 else float("nan")


def content_proxies(given: Given) -> list[int]:
    """Proxies that hold as much content as the others see: as many as canonical correlations beyond chance.

    Of all choices, the one whose least such correlation is largest; empty where no two proxies agree.
    """
    return _that_hold_content(given.corr, given.seen[:MOST], given.degrees)


def _that_hold_content(corr: Array, seen: list[int], n: int) -> list[int]:
    """`content_proxies` among those seen, from their correlations in n rows less columns."""
    corr = corr[np.ix_(seen, seen)]
    for size in range(len(seen) // 2, 0, -1):
        chosen, rest, choices = _splits(len(seen), size)
        rho2 = _canonical(corr, chosen, rest)
        statistic = -(n - 0.5 * (len(seen) + 1)) * np.log1p(-rho2)
        # Bartlett: that the least of them is chance alone.
        shared = chi2_sf(statistic, rest.shape[1] - size + 1) < SHARED / choices
        if shared.any():
            return [seen[k] for k in chosen[np.argmax(np.where(shared, rho2, -1.0))]]
    return []


@cache
def _splits(count: int, size: int) -> tuple[NDArray[np.intp], NDArray[np.intp], int]:
    """All ways to choose `size` of `count`, what is left by each, and how many there are.

    Of two halves either may be the chosen one: the first is, not the one that rounding prefers.
    """
    every = list(combinations(range(count), size))
    kept = every[: len(every) // 2] if 2 * size == count else every
    rest = [[k for k in range(count) if k not in chosen] for chosen in kept]
    return np.array(kept), np.array(rest), len(every)


def _canonical(corr: Array, chosen: NDArray[np.intp], rest: NDArray[np.intp]) -> Array:
    """The least squared canonical correlation of two sets of proxies, for each of many such splits."""
    across = corr[chosen[:, :, None], rest[:, None, :]]
    inner, outer = (corr[some[:, :, None], some[:, None, :]] for some in (chosen, rest))
    told = across @ np.linalg.pinv(outer, hermitian=True) @ across.swapaxes(1, 2)
    values = np.linalg.eigvals(np.linalg.pinv(inner, hermitian=True) @ told).real
    return np.asarray(np.clip(values.min(axis=1), 0.0, 1.0 - 1e-12))


def instruments_p(left: Array, extra: Array, cluster: NDArray[np.int64] | None, more: float) -> float:
    """Sargan's test, robust: whether instruments that were not needed still go with what is left.

    extra (n,k) : what the other columns leave of them. more : `inflation`, since who is biased was told with
    the same slopes.
    """
    scores = extra * left[:, None]
    return wald_p(scores.sum(axis=0), more * meat(scores, cluster), count_clusters(cluster))


def moved_proxies(P: Array, E: Array, weights: Array, cluster: NDArray[np.int64] | None = None) -> Array:
    """The p-value of "E moves this proxy through content only" for each, (p,); NaN where it cannot be asked.

    A proxy that carries a part of the bias is moved by E as the bias is, whoever is biased. Asked only where
    a few common factors explain the proxies given E, as curved proxies would seem moved.
    """
    p = P.shape[1]
    out = np.full(p, np.nan)
    if p < 4:
        return out
    given = Given.of(P, E, weights)
    corr, seen = given.corr, given.seen
    held = _that_hold_content(corr, seen[:MOST], given.degrees)
    if not factors_p(given, len(held)) >= UNHELD:
        return out
    nothing = np.zeros((given.ones.shape[1] - 1,) * 2)
    for k in range(p):
        chosen = held
        # Beyond those looked at, a proxy makes no difference to the choice among the others.
        if k in seen[:MOST]:
            chosen = _that_hold_content(corr, [j for j in seen if j != k][:MOST], given.degrees)
        if chosen:
            stages = _Stages.of(given, chosen, [j for j in range(p) if j != k and j not in chosen])
            slopes, left = stages.slopes(given.along[:, k], given.left[:, k])
            out[k] = stages.direct_p(slopes, left, 1.0, nothing, cluster)
    return out


def any_moved(moved: Array) -> float:
    """The p-value of "none of them is moved", corrected for their number; NaN where none was asked."""
    asked = moved[np.isfinite(moved)]
    return min(float(asked.min()) * len(moved), 1.0) if len(asked) else float("nan")


def factors_p(given: Given, r: int) -> float:
    """The p-value of "r common factors explain the proxies given E"; NaN where there is no test."""
    corr, p = given.corr, len(given.gram)
    free = ((p - r) ** 2 - (p + r)) / 2
    if r < 1 or free < 1 or len(given.seen) < p:
        return float("nan")

    def lack(log_psi: Array) -> tuple[float, Array]:
        """Joreskog: -2 log likelihood per row of given unique variances, against a free correlation.

        Also its slopes: an eigenvalue moves by minus itself times the square of its vector.
        """
        inverse = np.exp(-0.5 * log_psi)
        values, vectors = np.linalg.eigh(inverse[:, None] * corr * inverse)
        rest = values[: p - r].clip(1e-12)
        return float((rest - np.log(rest) - 1.0).sum()), vectors[:, : p - r] ** 2 @ (1.0 - rest)

    one = np.ones(p)
    best = min(
        minimise(lack, at * one, LEAST_LOG_PSI * one, 0.0 * one, one, *SEARCH)[1] for at in (-0.7, -3.0)
    )
    # Bartlett's correction.
    size = given.degrees - (2 * p + 5) / 6 - 2 * r / 3
    return float(chi2_sf(max(size * best, 0.0), free))
