"""Content that is curved, proxies of all sorts, and environments of all sorts."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from proxycal.testing.wider.recipe import Recipe, from_environment, pair, plain_units

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from proxycal.testing.wider.recipe import Array, Units
    from proxycal.testing.wider.record import WiderWorld

CONTENT, PROXIES, ENVIRONMENT = "curved content", "proxies", "environments"

CURVES: dict[str, tuple[str, Callable[[Array], Array]]] = {
    "tanh": ("content levels off", lambda z: 3.0 * np.tanh(0.8 * (z[:, 0] + z[:, 1]))),
    "quadratic": ("a square of the content", lambda z: z @ [1.5, 1.0] + 0.5 * z[:, 0] ** 2),
    "interaction": ("a product of two contents", lambda z: z @ [1.5, 1.0] + 0.8 * z[:, 0] * z[:, 1]),
}


def well_measured(rng: Generator, n: int) -> Units:
    """Two accurate proxies and a third: what is curved in content is curved in them."""
    u = plain_units(rng, n)
    exact = u.z @ np.array([[1.0, 0.0, 0.8], [0.0, 1.0, -0.5]])
    return replace(u, P=exact + 0.25 * rng.normal(size=exact.shape))


def curved(u: Units, curve: Callable[[Array], Array]) -> Array:
    """A curve of the content plus normal noise."""
    return curve(u.z) + u.rng.normal(size=u.n)


def few_proxies(rng: Generator, n: int) -> Units:
    """One proxy only."""
    u = plain_units(rng, n)
    return replace(u, P=u.content[:, None] / 1.8 + 0.5 * rng.normal(size=(n, 1)))


def many_proxies(rng: Generator, n: int) -> Units:
    """Twelve proxies."""
    u = plain_units(rng, n)
    return replace(u, P=u.z @ rng.normal(size=(2, 12)) + rng.normal(size=(n, 12)))


def weak_proxies(rng: Generator, n: int) -> Units:
    """Three proxies that are mostly noise."""
    u = plain_units(rng, n)
    return replace(u, P=u.P + 1.5 * rng.normal(size=u.P.shape))


def correlated_proxies(rng: Generator, n: int) -> Units:
    """Three proxies that share most of their errors."""
    u = plain_units(rng, n)
    return replace(u, P=u.P + 0.8 * rng.normal(size=(n, 1)))


def driven_proxies(rng: Generator, n: int) -> Units:
    """Three proxies, two of which the environment moves directly."""
    u = plain_units(rng, n)
    moved = np.column_stack([0.6 * u.E[:, 0], -0.4 * u.E[:, 1], np.zeros(n)])
    return replace(u, P=u.P + moved)


def categories(rng: Generator, n: int, levels: int) -> Units:
    """A category whose levels differ in content and bias, beside one number."""
    worth = rng.permutation(np.linspace(-1.6, 1.6, levels))
    code = rng.integers(0, levels, n)
    E = np.column_stack([worth[code], rng.normal(size=n)])
    names = np.array([f"region {k + 1:02d}" for k in range(levels)])
    return from_environment(rng, E, {"region": names[code], "e_2": E[:, 1]})


def binary(rng: Generator, n: int) -> Units:
    """Two yes-or-no columns."""
    yes = rng.random((n, 2)) < (0.5, 0.3)
    E = np.where(yes, 1.0, -1.0)
    return from_environment(rng, E, {"e_1": yes[:, 0].astype(int), "e_2": yes[:, 1].astype(int)})


def heavy_tailed(rng: Generator, n: int) -> Units:
    """Two columns with heavy tails."""
    return from_environment(rng, rng.standard_t(3, (n, 2)) / np.sqrt(3.0))


def _proxies(
    name: str, about: str, units: Callable[[Generator, int], Units]
) -> tuple[WiderWorld, WiderWorld]:
    return pair(PROXIES, name, about, Recipe(units=units))


def _environment(
    name: str, about: str, units: Callable[[Generator, int], Units], n: int = 1000, hard: bool = False
) -> tuple[WiderWorld, WiderWorld]:
    return pair(ENVIRONMENT, name, about, Recipe(units=units), n=n, hard=hard)


WORLDS = (
    *(
        each
        for name, (about, curve) in CURVES.items()
        for each in pair(
            CONTENT,
            f"content {name}",
            about,
            Recipe(units=well_measured, truth=partial(curved, curve=curve)),
            n=2000,
        )
    ),
    *_proxies("one proxy", "one proxy only", few_proxies),
    *_proxies("twelve proxies", "twelve proxies", many_proxies),
    *_proxies("weak proxies", "three proxies that are mostly noise", weak_proxies),
    *_proxies("correlated proxies", "three proxies that share most of their errors", correlated_proxies),
    *_proxies("proxies moved by E", "the environment moves two proxies directly", driven_proxies),
    *_environment("5 levels", "a category of 5 levels", partial(categories, levels=5)),
    *_environment("20 levels", "a category of 20 levels", partial(categories, levels=20), n=2000),
    *_environment("binary environment", "two yes-or-no columns", binary),
    *_environment("heavy-tailed environment", "two columns with heavy tails", heavy_tailed),
    *_environment("8 columns", "eight normal columns", partial(plain_units, columns=8), n=2000),
    *_environment("30 columns", "thirty normal columns", partial(plain_units, columns=30), hard=True),
)
