"""Worlds that violate one assumption of the method each, and clean ones beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from proxycal.errors import SettingsError
from proxycal.testing.worlds import World, draw_world

if TYPE_CHECKING:
    import pandas as pd

ALPHA_SD = 3.0
# How far the content of two groups is moved to either side, in sds of a latent: none, or a few, share any.
APART = {"no overlap": 3.0, "little overlap": 2.0}


@dataclass(frozen=True, slots=True)
class Violation:
    """kind : a kind of `draw_world`, or "latent": drawn here.

    expected : topics of the findings of which one should fire; none where nothing should.
    leak : share of the bias that a proxy carries. hidden : whether no data could show the violation.
    """

    kind: str
    alpha_sd: float
    expected: tuple[str, ...]
    leak: float = 0.0
    hidden: bool = False


VIOLATIONS = {
    "clean": Violation("gaussian", ALPHA_SD, ()),
    "clean, no bias": Violation("gaussian", 0.0, ()),
    "clean, clusters": Violation("clusters", ALPHA_SD, ()),
    "leak 0.2": Violation("gaussian", ALPHA_SD, ("exclusion",), 0.2),
    "leak 0.5": Violation("gaussian", ALPHA_SD, ("exclusion",), 0.5),
    "leak 1.0": Violation("gaussian", ALPHA_SD, ("exclusion",), 1.0),
    "leak into all": Violation("latent", ALPHA_SD, ("exclusion",), 1.0, hidden=True),
    "E in the mean": Violation("E in the mean", ALPHA_SD, ("direct",)),
    "heteroscedastic": Violation("heteroscedastic", ALPHA_SD, ("heteroscedasticity",)),
    "skewed": Violation("exponential", ALPHA_SD, ("shape",)),
    "no overlap": Violation("latent", ALPHA_SD, ("overlap", "gap")),
    "little overlap": Violation("latent", ALPHA_SD, ("overlap", "gap")),
    "useless proxies": Violation("gaussian", ALPHA_SD, ("relevance",)),
    "varying alpha": Violation("alpha by level", 1.0, ("constancy",)),
}


def draw_violation(name: str, n: int, seed: int) -> tuple[World, pd.DataFrame]:
    """A world, and the table that an analyst would get of it once the assumption is violated.

    >>> world, table = draw_violation("leak 1.0", n=100, seed=0)
    >>> bool(np.allclose(table["p_2"] - world.P[:, 1], world.alpha * world.a))
    True
    """
    if name not in VIOLATIONS:
        raise SettingsError(f"violation {name!r} is not known: use one of {', '.join(VIOLATIONS)}")
    violation = VIOLATIONS[name]
    if violation.kind == "latent":
        world, along = latent_world(n, violation.alpha_sd, seed, APART.get(name, 0.0))
    else:
        world = draw_world(violation.kind, n, violation.alpha_sd, seed)
    table = world.table()
    names = list(world.roles.proxies)
    if violation.hidden:
        table[names] += (world.alpha * world.a)[:, None] * along
    elif violation.leak:
        table["p_2"] += violation.leak * world.alpha * world.a
    if name == "useless proxies":
        order = np.random.default_rng(seed).permutation(n)
        table[names] = table[names].to_numpy()[order]
    return world, table


def latent_world(n: int, alpha_sd: float, seed: int, apart: float = 0.0) -> tuple[World, np.ndarray]:
    """A gaussian world, and how far each proxy moves, (5,), when content moves the outcome by violation.

    A bias that moves all proxies so is a move of the latents: the table is, draw for draw, one of a world
    without a bias. apart : the sign of e_1 moves the latents to one side or the other, and says all but
    once in a hundred who is biased.
    """
    rng = np.random.default_rng([seed, 1])
    E = rng.normal(size=(n, 5))
    side = np.where(E[:, 0] > 0.0, 1.0, -1.0)
    z = E @ rng.normal(scale=0.4, size=(5, 2)) + rng.normal(size=(n, 2)) + apart * side[:, None]
    loadings = rng.uniform(0.5, 1.5, size=(2, 5)) * np.where(rng.random((2, 5)) < 0.5, -1.0, 1.0)
    worth = np.array([1.0, 0.7])
    P = z @ loadings + 0.25 * rng.normal(size=(n, 5))
    y_true = z @ worth + 0.5 * rng.normal(size=n)
    X = np.column_stack([np.ones(n), P, E])
    sd = float((y_true - X @ np.linalg.lstsq(X, y_true, rcond=None)[0]).std())
    chance = expit(E @ rng.normal(scale=0.8, size=5) - 0.3)
    if apart:
        chance = np.where(side > 0.0, 0.99, 0.01)
    a = (rng.random(n) < chance).astype(float)
    alpha = np.full(n, alpha_sd * sd)
    return World(y_true + alpha * a, P, E, y_true, a, alpha, sd), worth @ loadings / (worth @ worth)
