"""Rows that depend on each other: clusters, panels, errors and trends along the rows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from proxycal.testing.wider.recipe import (
    Bias,
    Recipe,
    from_environment,
    pair,
    plain_truth,
    plain_units,
    world,
)

if TYPE_CHECKING:
    from numpy.random import Generator

    from proxycal.testing.wider.recipe import Array, Units

CLUSTERS, ORDER = "clusters", "order of the rows"
ROWS = 10
INTERCEPT_SD = 1.5


def clusters(rng: Generator, n: int, declared: bool = True) -> Units:
    """Clusters of ten rows; the environment differs from row to row."""
    return replace(plain_units(rng, n), cluster=np.arange(n) // ROWS, declared=declared)


def unequal_clusters(rng: Generator, n: int) -> Units:
    """A tenth as many clusters as rows, some of them ten times as large as others."""
    chance = rng.lognormal(0.0, 0.8, n // ROWS)
    code = np.sort(rng.choice(len(chance), size=n, p=chance / chance.sum()))
    return replace(plain_units(rng, n), cluster=np.unique(code, return_inverse=True)[1])


def whole_clusters(rng: Generator, n: int) -> Units:
    """Clusters of ten rows that share their environment, as households of one county do."""
    cluster = np.arange(n) // ROWS
    E = rng.normal(size=(cluster[-1] + 1, 2))[cluster]
    return replace(from_environment(rng, E), cluster=cluster)


def panel(rng: Generator, n: int, declared: bool = True) -> Units:
    """Ten periods of each unit; one environment column belongs to the unit, one to the period."""
    unit = np.arange(n) // ROWS
    E = np.column_stack([rng.normal(size=unit[-1] + 1)[unit], rng.normal(size=n)])
    return replace(from_environment(rng, E), cluster=unit, declared=declared)


def intercepts(u: Units) -> Array:
    """A random intercept of each cluster."""
    assert u.cluster is not None
    return INTERCEPT_SD * u.rng.normal(size=int(u.cluster.max()) + 1)[u.cluster]


def with_intercepts(u: Units) -> Array:
    """Intercepts that count as noise, since nobody declared the clusters."""
    return plain_truth(u) + intercepts(u)


def autocorrelated(u: Units) -> Array:
    """Errors that remember the row before: AR(1) with 0.7, sd 1, as a moving average of its shocks."""
    memory = np.sqrt(1.0 - 0.7**2) * 0.7 ** np.arange(60)
    return u.content + np.convolve(u.rng.normal(size=u.n + 59), memory, mode="valid")


def trend(u: Units) -> Array:
    """A line and a wave along the rows."""
    time = np.arange(u.n) / u.n
    return plain_truth(u) + 2.0 * time + np.sin(8.0 * np.pi * time)


WORLDS = (
    *pair(
        CLUSTERS,
        "clusters",
        "random intercepts of declared clusters, bias by row",
        Recipe(units=clusters, shared=intercepts),
        n=2000,
    ),
    *pair(
        CLUSTERS,
        "unequal clusters",
        "random intercepts, clusters of unequal sizes, bias by row",
        Recipe(units=unequal_clusters, shared=intercepts),
        n=2000,
    ),
    *pair(
        CLUSTERS,
        "whole clusters",
        "random intercepts, bias by whole declared clusters",
        Recipe(units=whole_clusters, shared=lambda u: 0.5 * intercepts(u), by_cluster=True),
        Bias(5.0),
        n=2000,
    ),
    *pair(
        CLUSTERS,
        "panel",
        "ten periods of each declared unit, bias by row",
        Recipe(units=panel, shared=intercepts),
        n=2000,
    ),
    *pair(
        CLUSTERS,
        "undeclared clusters",
        "random intercepts that the table does not name",
        Recipe(units=partial(clusters, declared=False), truth=with_intercepts),
        hard=True,
    ),
    *pair(
        CLUSTERS,
        "undeclared panel",
        "ten periods of each unit, not named in the table",
        Recipe(units=partial(panel, declared=False), truth=with_intercepts),
        hard=True,
    ),
    *pair(ORDER, "AR errors", "errors remember the row before", Recipe(truth=autocorrelated), hard=True),
    *pair(ORDER, "trend", "a trend along the rows", Recipe(truth=trend), hard=True),
    world(
        ORDER,
        "AR errors, n 2000, no bias",
        "errors remember the row before, without a bias",
        Recipe(truth=autocorrelated),
        Bias(0.0),
        n=2000,
    ),
)
