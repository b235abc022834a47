"""Content as several proxies see it, and whether E moves something beside it.

Noisy proxies leave some content to E, so a regression on them gives E a slope where it has none. Some of the
proxies stand for content, the others are their instruments: then it has not.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize

from proxycal.methods.checks.wald import count_clusters, meat, solve, wald_p
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
    ones = np.column_stack([np.ones(len(y_cal)), E])
    chosen = content_proxies(P, ones, weights)
    return _direct_p(y_cal, P, ones, chosen, p_biased, bias, se, weights, cluster)


def _direct_p(
    y_cal: Array,
    P: Array,
    ones: Array,
    chosen: list[int],
    p_biased: Array,
    bias: float,
    se: float,
    weights: Array,
    cluster: NDArray[np.int64] | None,
) -> float:
    """The same with the proxies that stand for content."""
    if not chosen:
        return float("nan")
    others = [k for k in range(P.shape[1]) if k not in chosen]
    root = np.sqrt(weights)[:, None]
    X, Z = np.column_stack([ones, P[:, chosen]]), np.column_stack([ones, P[:, others]])
    X_seen = Z @ solve(Z * root, X * root)
    bread = np.linalg.pinv(X_seen.T @ (X_seen * weights[:, None]), hermitian=True)
    beta, of_p = (bread @ (X_seen.T @ (weights * v)) for v in (y_cal, p_biased))
    left = y_cal - X @ beta
    more = inflation(p_biased, bias, float(np.average(left**2, weights=weights)), ones, weights)
    if not np.isfinite(more):
        return float("nan")
    if len(others) > len(chosen) and instruments_p(left, X_seen, Z, ones, weights, cluster, more) < UNHELD:
        return float("nan")
    middle = meat(X_seen * (weights * left)[:, None], cluster)
    cov = more * bread @ middle @ bread + (se if np.isfinite(se) else 0.0) ** 2 * np.outer(of_p, of_p)
    at = slice(1, ones.shape[1])
    return wald_p(beta[at], cov[at, at], count_clusters(cluster))


def inflation(p_biased: Array, bias: float, left: float, ones: Array, weights: Array) -> float:
    """How much wider slopes are than with y_cal taken as data, whose p_biased knows these slopes.

    Louis: of what the slopes, and the gate, would be told if A were seen, the shares f and g are missing, and
    missing together, as one A hides from both. left : mean square of y_cal, less than the noise by f of
    it. NaN where next to nothing is left.
    """
    unsure = float(np.average(p_biased * (1.0 - p_biased), weights=weights))
    hidden = bias**2 * unsure
    if not hidden > 0.0:
        return 1.0
    root = np.sqrt(weights)[:, None]
    spread = p_biased - ones @ solve(ones * root, p_biased * root[:, 0])
    f, g = hidden / (left + hidden), unsure / (unsure + float(np.average(spread**2, weights=weights)))
    return (1.0 + f / (1.0 - f - g)) / (1.0 - f) if f + g < 0.9 else float("nan")


def content_proxies(P: Array, ones: Array, weights: Array) -> list[int]:
    """Proxies that hold as much content as the others see: as many as canonical correlations beyond chance.

    Of all choices, the one whose least such correlation is largest; empty where no two proxies agree.
    """
    corr, seen = _given_environment(P, ones, weights)
    return _that_hold_content(corr, seen[:MOST], len(P) - ones.shape[1])


def _given_environment(P: Array, ones: Array, weights: Array) -> tuple[Array, list[int]]:
    """Correlations of the proxies given E, (p, p), and those of which something is left."""
    root = np.sqrt(weights)[:, None]
    left = P * root - ones * root @ solve(ones * root, P * root)
    scale = np.sqrt((left**2).sum(axis=0))
    seen = np.flatnonzero(scale > 1e-8 * np.sqrt((P * root) ** 2).sum(axis=0).clip(1e-300))
    scale[scale == 0.0] = 1.0
    return (left / scale).T @ (left / scale), seen.tolist()


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


def instruments_p(
    left: Array,
    X_seen: Array,
    Z: Array,
    ones: Array,
    weights: Array,
    cluster: NDArray[np.int64] | None,
    more: float,
) -> float:
    """Sargan's test, robust: whether instruments that were not needed still go with what is left.

    more : `inflation`, since who is biased was told with the same slopes.
    """
    root = np.sqrt(weights)[:, None]
    extra = Z[:, ones.shape[1] :][:, : Z.shape[1] - X_seen.shape[1]]
    extra = extra - X_seen @ solve(X_seen * root, extra * root)
    scores = extra * (weights * left)[:, None]
    return wald_p(scores.sum(axis=0), more * meat(scores, cluster), count_clusters(cluster))


def moved_proxies(P: Array, E: Array, weights: Array, cluster: NDArray[np.int64] | None = None) -> Array:
    """The p-value of "E moves this proxy through content only" for each, (p,); NaN where it cannot be asked.

    A proxy that carries a part of the bias is moved by E as the bias is, whoever is biased. Asked only where
    a few common factors explain the proxies given E, as curved proxies would seem moved.
    """
    out = np.full(P.shape[1], np.nan)
    ones = np.column_stack([np.ones(len(P)), E])
    if P.shape[1] < 4:
        return out
    (corr, seen), n = _given_environment(P, ones, weights), len(P) - ones.shape[1]
    held = _that_hold_content(corr, seen[:MOST], n)
    if not factors_p(P, ones, weights, len(held)) >= UNHELD:
        return out
    nobody = np.zeros(len(P))
    for k in range(P.shape[1]):
        # Beyond those looked at, a proxy makes no difference to the choice among the others.
        if k in seen[:MOST]:
            held_without = _that_hold_content(corr, [j for j in seen if j != k][:MOST], n)
        else:
            held_without = held
        others, chosen = np.delete(P, k, axis=1), [j - (j > k) for j in held_without]
        out[k] = _direct_p(P[:, k], others, ones, chosen, nobody, 0.0, 0.0, weights, cluster)
    return out


def any_moved(moved: Array) -> float:
    """The p-value of "none of them is moved", corrected for their number; NaN where none was asked."""
    asked = moved[np.isfinite(moved)]
    return min(float(asked.min()) * len(moved), 1.0) if len(asked) else float("nan")


def factors_p(P: Array, ones: Array, weights: Array, r: int) -> float:
    """The p-value of "r common factors explain the proxies given E"; NaN where there is no test."""
    p = P.shape[1]
    free = ((p - r) ** 2 - (p + r)) / 2
    root = np.sqrt(weights / weights.mean())[:, None]
    left = P * root - ones * root @ solve(ones * root, P * root)
    scale = left.std(axis=0)
    if r < 1 or free < 1 or not (scale > 1e-8).all():
        return float("nan")
    corr = (left / scale).T @ (left / scale) / len(P)

    def lack(log_psi: Array) -> float:
        """Joreskog: -2 log likelihood per row of given unique variances, against a free correlation."""
        inverse = np.exp(-0.5 * log_psi)
        rest = np.linalg.eigvalsh(inverse[:, None] * corr * inverse)[: p - r].clip(1e-12)
        return float((rest - np.log(rest) - 1.0).sum())

    bounds = [(-12.0, 0.0)] * p
    best = min(float(minimize(lack, np.full(p, at), bounds=bounds).fun) for at in (-0.7, -3.0))
    # Bartlett's correction.
    size = len(P) - ones.shape[1] - (2 * p + 5) / 6 - 2 * r / 3
    return float(chi2_sf(max(size * best, 0.0), free))
