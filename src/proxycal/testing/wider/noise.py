"""Laws of the noise, and mixtures of regressions in content."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from proxycal.testing.wider.recipe import Bias, Recipe, pair, world

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from proxycal.testing.wider.recipe import Array, Units

NOISE, MIXTURES, UNDECIDABLE = "noise", "mixtures of regressions", "undecidable"

# Every law has mean 0 and, but for the tails of t3, sd 1.
LAWS: dict[str, tuple[str, Callable[[Generator, int], Array]]] = {
    "t3": ("heavy tails: t with 3 degrees of freedom", lambda r, n: r.standard_t(3, n) / np.sqrt(3.0)),
    "Laplace": ("Laplace noise", lambda r, n: r.laplace(scale=np.sqrt(0.5), size=n)),
    "lognormal": (
        "lognormal noise, centred",
        lambda r, n: (r.lognormal(0.0, 0.6, n) - np.exp(0.18)) / (np.exp(0.18) * np.sqrt(np.expm1(0.36))),
    ),
    "gamma": ("gamma noise of shape 2, centred", lambda r, n: (r.gamma(2.0, 1.0, n) - 2.0) / np.sqrt(2.0)),
    "two-humped": (
        "two humps, the same for everybody",
        lambda r, n: 0.9 * np.where(r.random(n) < 0.4, 1.2, -0.8) + 0.4 * r.normal(size=n),
    ),
}


def with_noise(u: Units, law: Callable[[Generator, int], Array]) -> Array:
    """Content plus noise of a law."""
    return u.content + law(u.rng, u.n)


def two_slopes(u: Units, tilt: float, by_environment: bool = False) -> Array:
    """Two kinds of rows with their own slope and level; `tilt` makes content (or E) choose the kind."""
    along = u.E @ u.w if by_environment else u.index
    second = u.rng.random(u.n) < expit(-0.5 + tilt * along)
    return np.where(second, 2.5 + 0.4 * u.content, u.content) + 0.8 * u.rng.normal(size=u.n)


def unseen_cause(u: Units) -> Array:
    """Something nobody measured follows the environment and adds to the true outcome."""
    hidden = u.rng.random(u.n) < expit(u.E @ u.w - 0.8)
    return u.content + u.rng.normal(size=u.n) + 3.8 * hidden


def linear_in_environment(u: Units, t: Array) -> Array:
    """Everybody is biased, by a straight line of the environment that stays above zero."""
    return np.maximum(1.0 + 0.35 * u.E[:, 0], 0.0)


WORLDS = (
    *(
        each
        for name, (about, law) in LAWS.items()
        for each in pair(NOISE, f"noise {name}", about, Recipe(truth=partial(with_noise, law=law)))
    ),
    *pair(
        MIXTURES,
        "two slopes",
        "two kinds of rows with their own slopes",
        Recipe(truth=partial(two_slopes, tilt=0.0)),
        n=2000,
    ),
    *pair(
        MIXTURES,
        "two slopes by content",
        "two kinds of rows, chosen by content",
        Recipe(truth=partial(two_slopes, tilt=1.0)),
        n=2000,
    ),
    world(
        UNDECIDABLE,
        "two slopes by E, no bias",
        "no bias; two kinds of rows, chosen by the environment",
        Recipe(truth=partial(two_slopes, tilt=1.0, by_environment=True)),
        Bias(0.0),
        n=2000,
        undecidable=True,
    ),
    world(
        UNDECIDABLE,
        "unseen cause, no bias",
        "no bias; an unseen cause follows the environment",
        Recipe(truth=unseen_cause),
        Bias(0.0),
        undecidable=True,
    ),
    world(
        UNDECIDABLE,
        "everybody, linear in E",
        "everybody is biased, by a straight line of the environment",
        Recipe(sizes=linear_in_environment, share=1.0 - 1e-12),
        undecidable=True,
    ),
)
