"""A bias of whole clusters: the reporter is the county or the clinic, so that a cluster is one report.

Intercepts of clusters swallow a bias that all rows of a cluster share. The same comparison on the means of
clusters sees it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.methods.parts import outcome_of
from proxycal.mixture.least_squares import least_squares

if TYPE_CHECKING:
    from proxycal.table.encode import Arrays

# Clusters below which their means are too few rows for a comparison.
MIN_CLUSTERS = 50


@dataclass(frozen=True, slots=True)
class Means:
    """What means of clusters leave out: variance of the outcome within them, and rows of a usual cluster."""

    variance: float
    rows: float

    def noise(self, rows: np.ndarray) -> np.ndarray:
        """Variance of means over so many rows beyond that of a usual mean, (C,); never below none."""
        return np.maximum(self.variance * (1.0 / rows - 1.0 / self.rows), 0.0)


def cluster_means(arrays: Arrays) -> tuple[Arrays, np.ndarray]:
    """A row per cluster with the weighted means of its rows, and the cluster of each row (n,)."""
    codes = np.unique(np.asarray(arrays.cluster), return_inverse=True)[1]
    mass = np.bincount(codes, arrays.weights)

    def mean(column: np.ndarray) -> np.ndarray:
        return np.asarray(np.bincount(codes, arrays.weights * column) / mass)

    count = len(mass)
    means = replace(
        arrays,
        y=mean(outcome_of(arrays)),
        P=np.column_stack([mean(column) for column in arrays.P.T]),
        E=np.column_stack([mean(column) for column in arrays.E.T]),
        weights=np.ones(count),
        cluster=None,
        truth=None,
        # A cluster is trusted where all of its rows are.
        trusted=None if arrays.trusted is None else mean(arrays.trusted.astype(float)) == 1.0,
        kept=np.ones(count, dtype=bool),
        levels={},
    )
    return means, codes


def means_of(arrays: Arrays) -> Means:
    """The variance within clusters beyond what proxies and environment say, and a cluster's usual size."""
    means, codes = cluster_means(arrays)
    y = outcome_of(arrays) - outcome_of(means)[codes]
    X = np.hstack([arrays.P - means.P[codes], arrays.E - means.E[codes]])
    left = y - X @ least_squares(X, y)
    freedom = max(arrays.n - means.n - X.shape[1], 1)
    return Means(float((left**2).sum()) / freedom, float(np.median(np.bincount(codes))))
