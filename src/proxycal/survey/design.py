"""How a sample was drawn, as arrays: strata and clusters of each stage, sizes, replicate weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from proxycal.errors import SettingsError, TableError

Replication = Literal["BRR", "Fay", "JK1", "JKn", "bootstrap"]
Lonely = Literal["fail", "certainty"]
# A sampled share so near to one leaves no sampling error.
ALL = 1e-7


@dataclass(frozen=True, slots=True)
class Stages:
    """A sample of n rows in S stages.

    strata, clusters : (n, S) codes; a cluster has its code within its stratum and the cluster above.
    sampled : (n, S) clusters sampled in the row's stratum. population : (n, S) clusters there are, inf where
    that is not known. lonely : what to do with a stratum of one cluster.
    """

    strata: np.ndarray
    clusters: np.ndarray
    sampled: np.ndarray
    population: np.ndarray
    lonely: Lonely = "fail"

    def degrees(self, inside: np.ndarray) -> float:
        """Degrees of freedom of the rows inside (n,) a domain: their clusters less their strata."""
        clusters = len(np.unique(self.clusters[inside, 0]))
        return float(clusters - len(np.unique(self.strata[inside, 0])))

    def covariance(self, scores: np.ndarray) -> np.ndarray:
        """Covariance (k, k) of the sums of weighted scores (n, k)."""
        return self._of(scores, np.arange(len(scores)), 0)

    def _of(self, scores: np.ndarray, rows: np.ndarray, stage: int) -> np.ndarray:
        """What is left to add by a stage and those below it, of some rows.

        V = sum over strata of (1 - n/N) n/(n-1) sum (t - mean t)^2 + n/N (V of each cluster)
        """
        whole = np.zeros((scores.shape[1], scores.shape[1]))
        strata = self.strata[rows, stage]
        for stratum in np.unique(strata):
            own = rows[strata == stratum]
            n, N = self.sampled[own[0], stage], self.population[own[0], stage]
            whole += _between(scores[own], self.clusters[own, stage], int(n), float(N), self.lonely)
            if stage + 1 < self.strata.shape[1] and np.isfinite(N):
                for cluster in np.unique(self.clusters[own, stage]):
                    below = own[self.clusters[own, stage] == cluster]
                    whole += n / N * self._of(scores, below, stage + 1)
        return whole


def _between(
    scores: np.ndarray, clusters: np.ndarray, n: int, population: float, lonely: Lonely
) -> np.ndarray:
    k, left = scores.shape[1], 1.0 - n / population
    if left < ALL or (n == 1 and lonely == "certainty"):
        return np.zeros((k, k))
    if n == 1:
        raise TableError(
            "a stratum of the design has one sampled cluster, so its sampling error cannot be seen: join it "
            "with a similar stratum, or use lonely='certainty' if it was certain to be sampled"
        )
    codes = np.unique(clusters, return_inverse=True)[1]
    # Clusters of which no row is asked have a total of zero.
    totals = np.zeros((n, k))
    np.add.at(totals, codes, scores)
    away = totals - totals.mean(axis=0)
    return np.asarray(left * n / (n - 1.0) * (away.T @ away))


@dataclass(frozen=True, slots=True)
class Replicates:
    """Replicate weights (R, n), with which the estimate is made again.

    scale, rscales (R,) : V = scale sum_r rscales_r (theta_r - mean theta)^2.
    """

    weights: np.ndarray
    scale: float
    rscales: np.ndarray

    def degrees(self, inside: np.ndarray) -> float:
        """Degrees of freedom: rank of the replicate weights of the rows inside (n,), less one."""
        own = self.weights[:, inside]
        values = np.linalg.svd(own, compute_uv=False)
        return float((values > 1e-5 * values[0]).sum() - 1)

    def variance(self, estimates: np.ndarray) -> float:
        """Variance from the estimates (R,) of the replicates."""
        centre = estimates[self.rscales > 0.0].mean()
        return float(self.scale * (self.rscales @ (estimates - centre) ** 2))


def stages_of(
    n: int,
    strata: list[np.ndarray],
    clusters: list[np.ndarray],
    sizes: list[np.ndarray],
    lonely: Lonely = "fail",
) -> Stages:
    """The stages from codes (n,) of strata and clusters, and population sizes or sampled shares (n,).

    Fewer strata than stages: the others have none. No cluster: every row is one. No size: with replacement.
    """
    depth = max(len(clusters), 1)
    made: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
    above = np.zeros(n, dtype=np.intp)
    for stage in range(depth):
        own = strata[stage] if stage < len(strata) else np.zeros(n, dtype=np.intp)
        stratum = _joined(above, own)
        unit = clusters[stage] if clusters else np.arange(n)
        cluster = _joined(stratum, unit)
        pairs = np.unique(np.column_stack([stratum, cluster]), axis=0)
        sampled = np.bincount(pairs[:, 0], minlength=int(stratum.max()) + 1)[stratum]
        population = np.full(n, np.inf)
        if stage < len(sizes):
            population = _population(sizes[stage], stratum, sampled, stage + 1)
        made.append((stratum, cluster, sampled, population))
        above = cluster
    names = ("strata", "clusters", "sampled", "population")
    columns = {
        name: np.column_stack(parts) for name, parts in zip(names, zip(*made, strict=True), strict=True)
    }
    return Stages(**columns, lonely=lonely)


def _joined(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.unique(np.column_stack([first, second]), axis=0, return_inverse=True)[1].ravel()


def _population(size: np.ndarray, stratum: np.ndarray, sampled: np.ndarray, stage: int) -> np.ndarray:
    """Clusters there are, from their number or from the share that was sampled."""
    if not (np.isfinite(size).all() and (size > 0.0).all()):
        raise TableError(f"the population sizes (fpc) of stage {stage} must be above 0 in every row")
    whole = np.where(size <= 1.0, sampled / size, size) if (size <= 1.0).all() else size
    if (whole < sampled * (1.0 - 1e-9)).any():
        raise TableError(
            f"the population sizes (fpc) of stage {stage} are below the number of sampled clusters: give how "
            "many clusters each stratum has, or the share of them that was sampled"
        )
    lowest = np.full(int(stratum.max()) + 1, np.inf)
    np.minimum.at(lowest, stratum, whole)
    if (whole > lowest[stratum] * (1.0 + 1e-9)).any():
        raise TableError(
            f"the population sizes (fpc) of stage {stage} differ within a stratum: give one to each"
        )
    return np.asarray(whole)


def replicates_of(
    weights: np.ndarray,
    kind: Replication,
    scale: float | None,
    rscales: np.ndarray | None,
    rho: float,
) -> Replicates:
    """Replicate weights (R, n) with the factors of their kind, unless others are given.

    >>> replicates_of(np.ones((4, 9)), "BRR", None, None, 0.0).scale
    0.25
    """
    R = len(weights)
    if R < 2:
        raise SettingsError("replicate weights: name two columns or more")
    usual = {
        "BRR": 1.0 / R,
        "Fay": 1.0 / (R * (1.0 - rho) ** 2),
        "JK1": (R - 1.0) / R,
        "JKn": 1.0,
        "bootstrap": 1.0 / (R - 1.0),
    }
    if kind not in usual:
        raise SettingsError(f"replicate_type={kind!r} is not known: use one of {', '.join(usual)}")
    if kind == "JKn" and rscales is None:
        raise SettingsError("replicate_type='JKn' needs rscales, (n_h - 1) / n_h for each replicate")
    own = np.ones(R) if rscales is None else np.asarray(rscales, dtype=float)
    if own.shape != (R,):
        raise SettingsError(
            f"rscales has {own.size} values and there are {R} replicate weights: give one to each"
        )
    return Replicates(weights, usual[kind] if scale is None else scale, own)
