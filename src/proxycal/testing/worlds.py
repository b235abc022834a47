"""Worlds with a known truth, each built to fool an estimator in one way.

    E ~ N(0, I), z = E V + noise (two latents), P_k see z, y_true = content(z) + noise,  y = y_true + alpha*A

`alpha_sd` is the bias in units of the residual sd: what is left of y_true once P and E are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.special import expit

from proxycal.errors import SettingsError
from proxycal.table.roles import Roles

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

KINDS = (
    "gaussian",
    "poisson",
    "exponential",
    "t3",
    "two-humped",
    "heteroscedastic",
    "zero-inflated",
    "E in the mean",
    "E curved in the mean",
    "clusters",
    "nonlinear",
    "alpha by level",
)
LEVELS = ("a", "b", "c", "d")
_PROXIES = [f"p_{k}" for k in range(1, 6)]
_ENVIRONMENT = [f"e_{k}" for k in range(1, 6)]


@dataclass(frozen=True, slots=True)
class World:
    """y, y_true, a (n,); P (n,5); E (n,5), plus one-hot of `level` where it exists; alpha (n,) per row.

    cluster, level (n,) integer codes or None.
    """

    y: Array
    P: Array
    E: Array
    y_true: Array
    a: Array
    alpha: Array
    residual_sd: float
    cluster: NDArray[np.intp] | None = None
    level: NDArray[np.intp] | None = None

    def table(self) -> pd.DataFrame:
        """The columns an analyst would get: y, p_1 .. p_5, e_1 .. e_5, level or cluster where they exist."""
        names = ["y", *_PROXIES, *_ENVIRONMENT]
        frame = pd.DataFrame(np.column_stack([self.y, self.P, self.E[:, :5]]), columns=names)
        if self.level is not None:
            frame["level"] = np.array(LEVELS)[self.level]
        if self.cluster is not None:
            frame["cluster"] = self.cluster
        return frame

    @property
    def roles(self) -> Roles:
        """Which column of the table is what."""
        return Roles(
            outcome="y",
            proxies=_PROXIES,
            environment=[*_ENVIRONMENT, "level"] if self.level is not None else _ENVIRONMENT,
            cluster=None if self.cluster is None else "cluster",
        )


def draw_world(kind: str, n: int, alpha_sd: float, seed: int) -> World:
    """One data set of a kind; the same seed gives the same bytes.

    >>> world = draw_world("exponential", n=200, alpha_sd=0.0, seed=1)
    >>> bool((world.y == world.y_true).all())
    True
    """
    if kind not in KINDS:
        raise SettingsError(f"unknown world {kind!r}; known: {', '.join(KINDS)}")
    rng = np.random.default_rng(seed)
    E = rng.normal(size=(n, 5))
    cluster = None
    if kind == "clusters":
        # Half of the environment is shared within a cluster, as county covariates are.
        cluster = np.sort(rng.integers(0, max(n // 20, 10), size=n))
        E[:, :3] = rng.normal(size=(cluster.max() + 1, 3))[cluster]
    z = E @ rng.normal(scale=0.4, size=(5, 2)) + rng.normal(size=(n, 2))
    P, content = _measure(kind, z, rng)
    y_true, level = _outcome(kind, content, E, cluster, rng)
    features = np.column_stack([np.ones(n), P, P**2, E])
    residual = y_true - features @ np.linalg.lstsq(features, y_true, rcond=None)[0]
    sd = float(residual.std())
    if kind == "zero-inflated":
        sd = float(y_true.std())
    gate = rng.normal(scale=0.8, size=5)
    a = (rng.random(n) < expit(E @ gate - 0.3)).astype(float)
    alpha = np.full(n, alpha_sd * sd)
    if level is not None:
        alpha = np.linspace(1.0, 5.0, 4)[level] * alpha_sd * sd
        E = np.column_stack([E, level[:, None] == np.arange(1, 4)]).astype(float)
    return World(y_true + alpha * a, P, E, y_true, a, alpha, sd, cluster, level)


def _measure(kind: str, z: Array, rng: Generator) -> tuple[Array, Array]:
    """Five proxies of the latents, and the content that drives the outcome."""
    n = len(z)
    noise = 0.25 * rng.normal(size=(n, 5))
    if kind == "nonlinear":
        views = [z[:, 0], z[:, 1], np.tanh(z[:, 0] + z[:, 1]), np.exp(0.5 * z[:, 0]), z[:, 1] ** 2]
        return np.column_stack(views) + 0.4 * noise, np.tanh(z[:, 0]) + 0.5 * z[:, 1] ** 2 + np.exp(
            0.3 * z[:, 0]
        )
    loadings = rng.uniform(0.5, 1.5, size=(2, 5)) * np.where(rng.random((2, 5)) < 0.5, -1.0, 1.0)
    return z @ loadings + noise, z @ np.array([1.0, 0.7])


def _outcome(
    kind: str, content: Array, E: Array, cluster: NDArray[np.intp] | None, rng: Generator
) -> tuple[Array, NDArray[np.intp] | None]:
    """The true outcome of each kind; the noise has sd 0.5 wherever it has one."""
    n = len(content)
    if kind == "poisson":
        return content + 0.5 * (rng.poisson(4.0, n) - 4.0) / 2.0 + 0.1 * (
            rng.poisson(4.0, n) - 4.0
        ) / 2.0, None
    if kind == "exponential":
        return content + 0.5 * (rng.exponential(size=n) - 1.0), None
    if kind == "t3":
        return content + 0.5 * rng.standard_t(3, size=n) / np.sqrt(3.0), None
    if kind == "two-humped":
        return content + 0.45 * np.where(rng.random(n) < 0.4, 1.2, -0.8) + 0.2 * rng.normal(size=n), None
    if kind == "heteroscedastic":
        return content + 0.5 * np.exp(0.4 * E[:, 0] - 0.3 * E[:, 1]) * rng.normal(size=n), None
    if kind == "zero-inflated":
        positive = rng.random(n) < expit(0.5 + 0.8 * content)
        return np.where(positive, 3.0 + content + 0.5 * rng.normal(size=n), 0.0), None
    noise = 0.5 * rng.normal(size=n)
    if kind == "E in the mean":
        return content + E @ np.array([0.5, -0.4, 0.3, 0.0, 0.2]) + noise, None
    if kind == "E curved in the mean":
        return content + 0.4 * E[:, 0] ** 2 + 0.5 * np.sin(1.5 * E[:, 1]) + noise, None
    if kind == "clusters" and cluster is not None:
        return content + 0.4 * rng.normal(size=cluster.max() + 1)[cluster] + noise, None
    if kind == "alpha by level":
        return content + noise, rng.integers(0, 4, size=n)
    return content + noise, None
