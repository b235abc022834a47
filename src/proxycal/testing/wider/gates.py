"""Who is biased: by content, by the true value, by steps of the environment; and how many are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.testing.wider.recipe import GATE, Bias, Recipe, world
from proxycal.testing.wider.sizes import linear_in_content

if TYPE_CHECKING:
    from proxycal.testing.wider.recipe import Array, Units

GATES, SHARES = "who is biased", "shares"


def by_content(u: Units, t: Array) -> Array:
    """Environment and content alike."""
    return u.E @ u.w + u.index


def by_true_value(u: Units, t: Array) -> Array:
    """Environment and the true outcome itself."""
    return u.E @ u.w + (t - t.mean()) / t.std()


def by_step(u: Units, t: Array) -> Array:
    """A step of the first environment column."""
    return np.where(u.E[:, 0] > 0.3, 2.0 * GATE, 0.0)


def by_interaction(u: Units, t: Array) -> Array:
    """One column, and its product with the other."""
    return u.E[:, 0] * (1.0 + u.E[:, 1])


def weakly(u: Units, t: Array) -> Array:
    """The environment, at half its usual strength."""
    return 0.5 * u.E @ u.w


def by_size_of_both(u: Units, t: Array) -> Array:
    """A curve: the further the first column from its middle, the likelier."""
    return 1.5 * np.abs(u.E[:, 0]) + u.E[:, 1]


WORLDS = (
    world(
        GATES,
        "gate by content",
        "content decides with the environment who is biased",
        Recipe(logit=by_content),
        undecidable=True,
    ),
    world(
        GATES,
        "gate and size by content",
        "content decides who is biased and by how much",
        Recipe(logit=by_content, sizes=linear_in_content),
        n=2000,
        undecidable=True,
    ),
    world(
        GATES,
        "gate by true value",
        "the true value decides with the environment who is biased",
        Recipe(logit=by_true_value),
        n=2000,
    ),
    world(GATES, "gate by a step", "a step of one environment column", Recipe(logit=by_step)),
    world(GATES, "gate by an interaction", "a product of two columns", Recipe(logit=by_interaction)),
    world(GATES, "gate by a curve", "the middle of a column is honest", Recipe(logit=by_size_of_both)),
    world(GATES, "weak gate", "the environment hardly decides", Recipe(logit=weakly), n=2000),
    world(SHARES, "share 0.01", "one row in a hundred", Recipe(share=0.01), n=2000, hard=True),
    world(SHARES, "share 0.05", "one row in twenty", Recipe(share=0.05), n=2000),
    world(SHARES, "share 0.1", "one row in ten", Recipe(share=0.1)),
    world(SHARES, "share 0.5", "every other row, under", Recipe(share=0.5), Bias(3.0, "under")),
    world(SHARES, "share 0.9", "nine rows in ten", Recipe(share=0.9), n=2000),
)
