"""How a wider world is made: five steps, each of which a world may replace.

    units    E, content z and proxies P          E ~ N(0, I), z = E/2 + 0.8 noise, P = z L + 0.7 noise
    truth    the true outcome                    t = z'(1.5, 1) + noise
    logit    who is biased                       A ~ Bernoulli(logistic(c + w'E)), c set by the share
    sizes    by how much, in residual sds        one size
    measure  how a value is written down         as it is

The direction of the gate and the proxy loadings differ from seed to seed; the strength of the gate does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal
from zlib import crc32

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from proxycal.table.roles import Roles
from proxycal.testing.wider.record import DrawnWorld, WiderWorld

if TYPE_CHECKING:
    from numpy.random import Generator

Array = NDArray[np.float64]
Values = Callable[[Array], Array]

LOADINGS = np.array([[1.0, 0.3, 0.8], [0.2, 1.0, -0.5]])
WORTH = np.array([1.5, 1.0])
GATE = 1.4
SHARE = 0.35
NO_BIAS = ", no bias"


@dataclass(frozen=True, slots=True)
class Units:
    """What a world is made of before anything is reported.

    E (n,q), z (n,2), P (n,k); content (n,) = z'WORTH, and w (q,) the slopes of who is biased.
    environment : the columns of E as the table shows them. cluster : (n,) codes, or None.
    declared : whether the table names the cluster.
    """

    rng: Generator
    E: Array
    z: Array
    P: Array
    w: Array
    environment: dict[str, Any]
    cluster: NDArray[np.intp] | None = None
    declared: bool = True

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.E)

    @property
    def content(self) -> Array:
        """What proxies and outcome both measure, (n,)."""
        return self.z @ WORTH

    @property
    def index(self) -> Array:
        """The content with mean 0 and sd 1."""
        return (self.content - self.content.mean()) / self.content.std()


def plain_units(rng: Generator, n: int, columns: int = 2) -> Units:
    """Normal environment, of which two columns drive the content, and three proxies."""
    return from_environment(rng, rng.normal(size=(n, columns)))


def from_environment(rng: Generator, E: Array, shown: dict[str, Any] | None = None) -> Units:
    """Content, proxies and gate of this environment; `shown` are its columns where they are no numbers."""
    z = 0.5 * E[:, :2] + 0.8 * rng.normal(size=(len(E), 2))
    P = z @ (LOADINGS * rng.uniform(0.8, 1.2, LOADINGS.shape)) + 0.7 * rng.normal(size=(len(E), 3))
    w = rng.normal(size=(E.shape[1],))
    names = {f"e_{k + 1}": column for k, column in enumerate(E.T)}
    w *= GATE / float(np.linalg.norm(w))
    return Units(rng, E, z, P, w, names if shown is None else shown)


def plain_truth(u: Units) -> Array:
    """Content plus normal noise of sd 1."""
    return u.content + u.rng.normal(size=u.n)


def gate_by_environment(u: Units, t: Array) -> Array:
    """Linear in the environment."""
    return u.E @ u.w


def one_size(u: Units, t: Array) -> Array:
    """Everybody who is biased is biased by the same."""
    return np.ones(u.n)


def as_it_is(u: Units, x: Array) -> Values:
    """No rounding, no caps."""
    return lambda values: values


@dataclass(frozen=True, slots=True)
class Recipe:
    """The five steps and their settings; `Recipe()` is the plain world.

    shared : adds what clusters or periods share, which does not count as residual noise.
    sizes : (n,) multiples of size_sd. whole : whether sizes are rounded, as counts need.
    zeros : whether the outcome has zeros of its own, which do not count as noise; immune : nor are biased.
    """

    units: Callable[[Generator, int], Units] = plain_units
    truth: Callable[[Units], Array] = plain_truth
    logit: Callable[[Units, Array], Array] = gate_by_environment
    sizes: Callable[[Units, Array], Array] = one_size
    measure: Callable[[Units, Array], Values] = as_it_is
    shared: Callable[[Units], Array] | None = None
    share: float = SHARE
    whole: bool = False
    zeros: bool = False
    immune: bool = False
    by_cluster: bool = False


@dataclass(frozen=True, slots=True)
class Bias:
    """The mean size in residual sds (0: no bias) and the direction."""

    size_sd: float = 3.0
    direction: Literal["over", "under"] = "over"


def draw(recipe: Recipe, bias: Bias, name: str, seed: int, n: int) -> DrawnWorld:
    """One table of n rows; worlds of different names draw from different streams."""
    rng = np.random.default_rng([seed, crc32(name.encode())])
    u = recipe.units(rng, n)
    t = recipe.truth(u)
    can = t != 0.0 if recipe.zeros else np.ones(n, dtype=bool)
    sd = residual_sd(t[can], u.P[can], u.E[can])
    if recipe.shared is not None:
        t = t + recipe.shared(u)
    a = _who(recipe, u, t) & (can if recipe.immune else True) & (bias.size_sd > 0.0)
    sign = 1.0 if bias.direction == "over" else -1.0
    size = bias.size_sd * sd * recipe.sizes(u, t)
    shift = np.where(a, sign * (np.round(size) if recipe.whole else size), 0.0)
    write = recipe.measure(u, t + shift)
    table, roles = _table(u, write(t + shift))
    return DrawnWorld(table, roles, bias.direction, write(t), a, shift, sd)


def _who(recipe: Recipe, u: Units, t: Array) -> NDArray[np.bool_]:
    logit = recipe.logit(u, t)
    chance = expit(logit + intercept(logit, recipe.share))
    if recipe.by_cluster and u.cluster is not None:
        return np.asarray((u.rng.random(int(u.cluster.max()) + 1)[u.cluster]) < chance)
    return np.asarray(u.rng.random(u.n) < chance)


def intercept(logit: Array, share: float) -> float:
    """What must be added to these logits for a mean probability of `share`.

    >>> round(intercept(np.zeros(3), 0.5), 6)
    0.0
    """
    return float(brentq(lambda c: expit(logit + c).mean() - share, -60.0, 60.0))


def residual_sd(t: Array, P: Array, E: Array) -> float:
    """Sd of what proxies (with squares and products) and lines of the environment leave of the truth."""
    products = [P[:, i] * P[:, j] for i in range(P.shape[1]) for j in range(i, min(P.shape[1], 4))]
    X = np.column_stack([np.ones(len(t)), P, E, *products])
    residual = t - X @ np.linalg.lstsq(X, t, rcond=None)[0]
    return float(np.sqrt((residual**2).sum() / max(len(t) - X.shape[1], 1)))


def _table(u: Units, y: Array) -> tuple[pd.DataFrame, Roles]:
    proxies = {f"p_{k + 1}": column for k, column in enumerate(u.P.T)}
    named = u.cluster is not None and u.declared
    cluster = {"cluster": u.cluster} if named else {}
    table = pd.DataFrame({"y": y, **proxies, **u.environment, **cluster})
    roles = Roles("y", list(proxies), list(u.environment), cluster="cluster" if named else None)
    return table, roles


def world(
    family: str,
    name: str,
    about: str,
    recipe: Recipe,
    bias: Bias | None = None,
    *,
    n: int = 1000,
    hard: bool = False,
    undecidable: bool = False,
) -> WiderWorld:
    """A world with a bias of three residual sds, unless told otherwise."""
    bias = bias or Bias()
    # A world and its twin without a bias have the same units under the same seed.
    stream = name.removesuffix(NO_BIAS)
    return WiderWorld(
        name,
        family,
        about,
        partial(draw, recipe, bias, stream),
        n,
        bias.direction,
        bias.size_sd,
        recipe.share if bias.size_sd > 0.0 else 0.0,
        hard,
        undecidable,
    )


def pair(
    family: str,
    name: str,
    about: str,
    recipe: Recipe,
    bias: Bias | None = None,
    *,
    n: int = 1000,
    hard: bool = False,
) -> tuple[WiderWorld, WiderWorld]:
    """The same world with a bias and without one."""
    bias = bias or Bias()
    with_bias = world(family, name, about, recipe, bias, n=n, hard=hard)
    null = Bias(0.0, bias.direction)
    return with_bias, world(family, name + NO_BIAS, f"{about}, without a bias", recipe, null, n=n)
