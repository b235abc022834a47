"""Whether two sets of rows have one law: tests whose p-values hold for few rows, ties, weights and clusters.

Neyman's smooth test of two samples: the rows get their ranks u in (0, 1) among all of them, and the means of
the Legendre polynomials of u (place, spread, skewness, tails) must not differ between the sets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

from proxycal.tails import chi2_sf, f_sf

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Pair = tuple[Floats, Floats]
    Clusters = tuple[NDArray[np.int64] | None, NDArray[np.int64] | None]

# Rows of the smaller set from which the next polynomial is used: the mean of a skewed one needs more rows
# before it is normal.
ROWS_OF_ORDER = (1, 25, 60, 120)
# A cell of which fewer rows are expected in the smaller set has no chi-square of its own.
EXPECTED = 5.0
# Rows beside the commonest value that a test by ranks needs.
VARIED = 25.0


@dataclass(frozen=True, slots=True)
class Compared:
    """Two sets of rows.

    p : of "one law". distance : the largest difference between shares of rows below a value; of levels, the
    share of rows that lie elsewhere.
    """

    p: float
    distance: float


def order_for(rows: float) -> int:
    """How many polynomials so many rows are enough for.

    >>> order_for(5), order_for(500)
    (1, 4)
    """
    return sum(rows >= least for least in ROWS_OF_ORDER)


def effective(weights: Floats) -> float:
    """How many rows of even weight know as much."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def ranks(pooled: Floats, weights: Floats) -> Floats:
    """The place (N,) in (0, 1) of each value among all; ties share theirs.

    >>> ranks(np.array([5.0, 1.0, 5.0]), np.ones(3)).round(3).tolist()
    [0.667, 0.167, 0.667]
    """
    _, place = np.unique(pooled, return_inverse=True)
    mass = np.bincount(place, weights=weights)
    middle = np.cumsum(mass) - 0.5 * mass
    return np.asarray(middle[place] / mass.sum())


def legendre(u: Floats, order: int) -> Floats:
    """The first polynomials (N, order), orthonormal for even u in (0, 1)."""
    x = 2.0 * u - 1.0
    columns = (x, 1.5 * x**2 - 0.5, 2.5 * x**3 - 1.5 * x, 4.375 * x**4 - 3.75 * x**2 + 0.375)
    return np.column_stack([np.sqrt(2.0 * k + 3.0) * columns[k] for k in range(order)])


def compare_numbers(
    old: Floats,
    new: Floats,
    weights: Pair,
    clusters: Clusters = (None, None),
) -> Compared:
    """Whether two sets of numbers have one law; (n,) and (m,), without gaps."""
    pooled, w = np.concatenate([old, new]), np.concatenate(weights)
    distance = ks_distance(old, new, weights)
    rows = min(independent(w, codes) for w, codes in zip(weights, clusters, strict=True))
    values, place = np.unique(pooled, return_inverse=True)
    mass = np.bincount(place, weights=w)
    if len(values) == 1:
        return Compared(1.0, 0.0)
    commonest = values[mass.argmax()]
    if rows * (1.0 - mass.max() / mass.sum()) < VARIED and mass.max() > 0.5 * mass.sum():
        # Nearly constant: whether as many rows as before are off the commonest value.
        off = [float(part_w @ (part != commonest)) / part_w.sum()
               for part, part_w in zip((old, new), weights, strict=True)]  # fmt: skip
        return Compared(_fisher_of(off, weights, clusters), distance)
    scores = legendre(ranks(pooled, w), order_for(rows))
    p = wald(scores[: len(old)], scores[len(old) :], weights, clusters)
    return Compared(p, distance)


def compare_levels(
    old: NDArray[np.int64],
    new: NDArray[np.int64],
    weights: Pair,
    clusters: Clusters = (None, None),
) -> Compared:
    """Whether two sets of levels, codes (n,) and (m,), have the same shares."""
    k = int(max(old.max(), new.max())) + 1
    shares = [np.bincount(codes, weights=w, minlength=k) / w.sum()
              for codes, w in zip((old, new), weights, strict=True)]  # fmt: skip
    distance = float(0.5 * np.abs(shares[0] - shares[1]).sum())
    sizes = [independent(w, codes) for w, codes in zip(weights, clusters, strict=True)]
    pooled = (shares[0] * sizes[0] + shares[1] * sizes[1]) / sum(sizes)
    often = pooled * min(sizes) >= EXPECTED
    # A cell for each level that is there often, one for the others together.
    cell = np.where(often, np.cumsum(often), 0)
    if pooled[~often].sum() * min(sizes) < EXPECTED and often.any():
        # They go to the rarest of those.
        cell[~often] = cell[np.flatnonzero(often)[pooled[often].argmin()]]
    present = np.unique(cell[pooled > 0.0])
    if len(present) < 2:
        off = [float(1.0 - share[pooled.argmax()]) for share in shares]
        return Compared(_fisher_of(off, weights, clusters), distance)
    scores = [(cell[codes][:, None] == present[None, :-1]).astype(np.float64) for codes in (old, new)]
    return Compared(wald(scores[0], scores[1], weights, clusters), distance)


def _fisher_of(off: list[float], weights: Pair, clusters: Clusters) -> float:
    """Fisher's p of two shares, with as many rows as know as much."""
    sizes = [max(round(independent(w, codes)), 1) for w, codes in zip(weights, clusters, strict=True)]
    return fisher(round(off[1] * sizes[1]), sizes[1], round(off[0] * sizes[0]), sizes[0])


def wald(old: Floats, new: Floats, weights: Pair, clusters: Clusters = (None, None)) -> float:
    """The p of equal means of the scores (n, k) and (m, k)."""
    gap = weights[1] @ new / weights[1].sum() - weights[0] @ old / weights[0].sum()
    sizes = effective(weights[0]), effective(weights[1])
    share = np.concatenate([w / w.sum() * size / sum(sizes) for w, size in zip(weights, sizes, strict=True)])
    pooled = np.vstack([old, new])
    off = pooled - share @ pooled
    cov = (off * share[:, None]).T @ off
    grown = inflation(off[: len(old)], weights, clusters)
    spread = cov * (np.outer(grown[0], grown[0]) / sizes[0] + np.outer(grown[1], grown[1]) / sizes[1])
    return quadratic(gap, spread, groups_of(clusters))


def groups_of(clusters: Clusters) -> float:
    """The clusters of the set that has fewer; infinite where rows are on their own."""
    return min((float(len(np.unique(codes))) for codes in clusters if codes is not None), default=np.inf)


def quadratic(gap: Floats, spread: Floats, groups: float = np.inf) -> float:
    """The p of a gap (k,) with covariance (k, k), which may lack ranks; an F where few clusters gave it."""
    values, vectors = np.linalg.eigh(spread)
    kept = values > 1e-8 * max(values.max(), 1e-300)
    if not kept.any():
        return 1.0
    statistic = float((((vectors.T @ gap)[kept]) ** 2 / values[kept]).sum())
    k = int(kept.sum())
    if np.isinf(groups):
        return float(chi2_sf(statistic, k))
    return float(f_sf(statistic / k, k, max(groups - 1.0, 1.0)))


def inflation(off: Floats, weights: Pair, clusters: Clusters) -> tuple[Floats, Floats]:
    """By what the errors of means of old and new scores grow, (k,) each, as rows of a cluster go together.

    off : (n, k) centred scores of the old rows, which say how much. A mean over clusters of n_c rows has the
    variance of one over 1 + (sum n_c^2 / n - 1) rho times fewer rows. New rows whose clusters are not known
    are taken to be in clusters like the old ones.
    """
    none = np.ones(off.shape[1])
    if clusters[0] is None:
        return none, none
    sizes = [_mean_size(codes, w) for codes, w in zip(clusters, weights, strict=True) if codes is not None]
    sums = np.zeros((int(clusters[0].max()) + 1, off.shape[1]))
    np.add.at(sums, clusters[0], off * weights[0][:, None])
    alone = (weights[0][:, None] ** 2 * off**2).sum(axis=0)
    together = (sums**2).sum(axis=0)
    rho = np.clip((together / np.maximum(alone, 1e-300) - 1.0) / max(sizes[0] - 1.0, 1e-9), 0.0, 1.0)
    grown = [np.sqrt(1.0 + rho * (size - 1.0)) for size in sizes]
    return grown[0], grown[-1]


def independent(weights: Floats, codes: NDArray[np.int64] | None) -> float:
    """How many rows of even weight and of their own know at least as much."""
    return effective(weights) / (1.0 if codes is None else _mean_size(codes, weights))


def _mean_size(codes: NDArray[np.int64], weights: Floats) -> float:
    """The size of the cluster of a row, on average over rows."""
    mass = np.bincount(codes, weights=weights)
    return max(float((mass**2).sum() / (weights**2).sum()), 1.0)


def ks_distance(old: Floats, new: Floats, weights: Pair | None = None) -> float:
    """The largest difference between the two shares of rows below a value.

    >>> ks_distance(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    0.5
    """
    at = np.unique(np.concatenate([old, new]))
    shares = []
    for part, w in zip((old, new), weights or (None, None), strict=True):
        order = np.argsort(part, kind="stable")
        mass = np.ones(len(part)) if w is None else w[order]
        below = np.concatenate([[0.0], np.cumsum(mass)]) / mass.sum()
        shares.append(below[np.searchsorted(part[order], at, side="right")])
    return float(np.abs(shares[0] - shares[1]).max())


def fisher(off_new: int, new: int, off_old: int, old: int) -> float:
    """Fisher's exact p, both sides, that shares off_new / new and off_old / old are one.

    >>> round(fisher(3, 3, 0, 3), 3)
    0.1
    """
    off = off_new + off_old
    counts = np.arange(max(0, off - old), min(off, new) + 1)
    logs = _log_choose(new, counts) + _log_choose(old, off - counts) - _log_choose(new + old, off)
    seen = logs[int(off_new - counts[0])]
    return float(min(np.exp(logs[logs <= seen + 1e-7]).sum(), 1.0))


def _log_choose(n: int, k: NDArray[np.int64] | int) -> Floats:
    return np.asarray(gammaln(n + 1.0) - gammaln(np.asarray(k) + 1.0) - gammaln(n - np.asarray(k) + 1.0))


def beyond(old: Floats, new: Floats) -> float:
    """An upper bound of the p of so many new rows beyond all old ones, on either side.

    That k given rows of m + n are the extreme ones, j of them above, has a probability of k! n! / (n + k)!
    for each j.

    >>> round(beyond(np.arange(99.0), np.array([200.0])), 3)
    0.02
    """
    k, n, m = int(((new < old.min()) | (new > old.max())).sum()), len(old), len(new)
    if k == 0:
        return 1.0
    log = np.log(k + 1.0) + _log_choose(m, k) + gammaln(k + 1.0) + gammaln(n + 1.0) - gammaln(n + k + 1.0)
    return float(min(np.exp(log), 1.0))
