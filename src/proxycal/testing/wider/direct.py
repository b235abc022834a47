"""The environment acts on everybody: on the mean, on the spread, on the skew."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from proxycal.testing.wider.recipe import Recipe, pair, plain_truth

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxycal.testing.wider.recipe import Array, Units

MEAN, SPREAD = "environment acts on everybody", "spread and skew"

EFFECTS: dict[str, tuple[str, Callable[[Units], Array]]] = {
    "linear": ("a straight line of E", lambda u: u.E[:, 0] - 0.6 * u.E[:, 1]),
    "step": ("a step of E", lambda u: np.where(u.E[:, 0] > 0.5, 2.0, 0.0)),
    "varying slope": ("the slope of content varies with E", lambda u: 0.5 * u.E[:, 0] * u.content),
    "quadratic": ("a square of E", lambda u: 0.7 * u.E[:, 0] ** 2),
    "interaction": ("a product of two columns of E", lambda u: u.E[:, 0] * u.E[:, 1]),
    "hinge": ("a hinge of E", lambda u: 1.5 * np.maximum(u.E[:, 0], 0.0)),
    "sine": ("a wave of E", lambda u: 1.2 * np.sin(2.0 * u.E[:, 1])),
}


def with_effect(u: Units, effect: Callable[[Units], Array]) -> Array:
    """The plain outcome plus an effect of the environment."""
    return plain_truth(u) + effect(u)


def scale_by_environment(u: Units) -> Array:
    """Normal noise whose sd follows the environment."""
    return u.content + np.exp(0.5 * u.E[:, 0] - 0.3 * u.E[:, 1]) * u.rng.normal(size=u.n)


def skew_by_environment(u: Units) -> Array:
    """Normal noise plus exponential noise whose scale follows the environment."""
    skewed = u.rng.exponential(1.0, u.n) - 1.0
    return plain_truth(u) + skewed * np.exp(0.7 * u.E[:, 0])


def scale_by_content(u: Units) -> Array:
    """Normal noise whose sd follows the content."""
    return u.content + np.exp(0.4 * u.index) * u.rng.normal(size=u.n)


WORLDS = (
    *(
        each
        for name, (about, effect) in EFFECTS.items()
        for each in pair(MEAN, f"E {name}", about, Recipe(truth=partial(with_effect, effect=effect)), n=2000)
    ),
    *pair(SPREAD, "scale by E", "the spread follows E", Recipe(truth=scale_by_environment)),
    *pair(SPREAD, "skew by E", "skewed noise follows E", Recipe(truth=skew_by_environment), n=2000),
    *pair(SPREAD, "scale by content", "the spread follows the content", Recipe(truth=scale_by_content)),
)
