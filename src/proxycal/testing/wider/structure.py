"""Who, and by how much, as real reporters differ: trees of causes, states, regions, years; and their nulls.

None of these was there when the first models were written.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from proxycal.testing.wider.recipe import Bias, Recipe, from_environment, pair, plain_truth, world

if TYPE_CHECKING:
    from numpy.random import Generator

    from proxycal.testing.wider.recipe import Array, Units

WHO, SIZES, TRUTH = "who, in structure", "sizes, in structure", "the truth, in structure"
STRONG = 3.0


# --- environments ---


def three_columns(rng: Generator, n: int) -> Units:
    """Three normal columns."""
    return from_environment(rng, rng.normal(size=(n, 3)))


def with_levels(rng: Generator, n: int, names: tuple[str, ...], numbers: int = 2) -> Units:
    """Normal columns, and a category that follows nothing. The codes are the last column of E."""
    E = rng.normal(size=(n, numbers))
    codes = rng.integers(0, len(names), n)
    shown = {f"e_{k + 1}": column for k, column in enumerate(E.T)} | {"place": np.array(names)[codes]}
    return from_environment(rng, np.column_stack([E, codes]), shown)


REGIONS = ("east", "north", "south", "west")
STATES = tuple(f"state {k:02d}" for k in range(1, 51))


def years(rng: Generator, n: int) -> Units:
    """A normal column and ten years."""
    E = np.column_stack([rng.normal(size=n), rng.integers(0, 10, n) / 3.0 - 1.5])
    return from_environment(rng, E, {"e_1": E[:, 0], "year": np.round(3.0 * E[:, 1] + 2014.5)})


def ordinal(rng: Generator, n: int) -> Units:
    """A normal column and one of five ordered values."""
    E = np.column_stack([rng.normal(size=n), rng.integers(0, 5, n) / 1.5 - 4.0 / 3.0])
    return from_environment(rng, E, {"e_1": E[:, 0], "class": np.round(1.5 * E[:, 1] + 3.0)})


def many_columns(rng: Generator, n: int) -> Units:
    """Thirty normal columns and three categories of four levels, of which three columns matter."""
    E = rng.normal(size=(n, 30))
    codes = rng.integers(0, 4, (n, 3))
    shown = {f"e_{k + 1}": column for k, column in enumerate(E.T)}
    shown |= {f"kind_{k + 1}": np.array(REGIONS)[column] for k, column in enumerate(codes.T)}
    return from_environment(rng, E, shown)


# --- who ---


def by_tree(u: Units, t: Array) -> Array:
    """Two splits below a third: a tree of three columns."""
    a, b, c = (column > cut for column, cut in zip(u.E.T[:3], (0.0, 0.4, -0.4), strict=True))
    return np.where(np.where(a, b, ~c), STRONG, 0.0)


def by_bump(u: Units, t: Array) -> Array:
    """Near one point of two columns."""
    away = ((u.E[:, :2] - np.array([0.7, -0.3])) ** 2).sum(axis=1)
    return 1.5 * STRONG * np.asarray(np.exp(-away))


def by_halves(u: Units, t: Array) -> Array:
    """One half of a column with one half of another, or neither."""
    return STRONG * ((u.E[:, 0] > 0.0) == (u.E[:, 1] > 0.0))


def by_class(u: Units, t: Array) -> Array:
    """The second and fifth of five classes."""
    return np.where(np.isin(np.round(1.5 * u.E[:, 1] + 3.0), (2.0, 5.0)), STRONG, 0.0)


def by_three(u: Units, t: Array) -> Array:
    """A product of three columns, and two of them alone."""
    return 1.2 * u.E[:, :3].prod(axis=1) + u.E[:, 0] - 0.5 * u.E[:, 1]


def by_place(u: Units, t: Array) -> Array:
    """Each place has log odds of its own."""
    codes = u.E[:, -1].astype(int)
    return 1.5 * u.rng.normal(size=int(codes.max()) + 1)[codes] + 0.5 * u.E[:, 0]


def by_three_of_many(u: Units, t: Array) -> Array:
    """Three of the columns."""
    return 1.2 * u.E[:, 0] - 0.8 * u.E[:, 1] + 0.8 * u.E[:, 2]


# --- by how much ---


def by_region(u: Units, t: Array, values: tuple[float, ...]) -> Array:
    """A size for each place, relative to their mean."""
    return np.array(values)[u.E[:, -1].astype(int)] / np.mean(values)


def over_years(u: Units, t: Array) -> Array:
    """Sizes that double from the first year to the last."""
    return (1.0 + (u.E[:, 1] + 1.5) / 3.0) / 1.5


def mostly_small(u: Units, t: Array) -> Array:
    """Gamma sizes of which most are below half of their mean."""
    return u.rng.gamma(0.8, 1.25, u.n)


def in_columns_one_and_two(u: Units, t: Array) -> Array:
    """The first two columns, plainly."""
    return 1.2 * u.E[:, 0] - 0.6 * u.E[:, 1]


# --- what the truth does ---


def policy(u: Units) -> Array:
    """From the middle year on, some regions differ."""
    return plain_truth(u) + 2.0 * (np.isin(u.E[:, -1], (0, 2)) & (u.E[:, 0] > 0.0))


def slopes_by_region(u: Units) -> Array:
    """The environment's effect differs by region."""
    return plain_truth(u) + np.array([-1.0, 0.0, 0.5, 1.0])[u.E[:, -1].astype(int)] * u.E[:, 0]


def two_products(u: Units) -> Array:
    """A product and a wave of the environment."""
    return plain_truth(u) + 0.8 * u.E[:, 0] * u.E[:, 1] + np.sin(2.0 * u.E[:, 0])


_regions = partial(with_levels, names=REGIONS)
_states = partial(with_levels, names=STATES)

WORLDS = (
    *pair(WHO, "who by a tree", "a tree of three columns",
          Recipe(units=three_columns, logit=by_tree), n=1500),
    *pair(WHO, "who by a bump", "near one point of two columns", Recipe(logit=by_bump), n=1500),
    *pair(WHO, "who by halves", "one half with one half, or neither", Recipe(logit=by_halves), n=1500),
    *pair(WHO, "who by class", "two of five ordered classes", Recipe(units=ordinal, logit=by_class), n=1500),
    *pair(WHO, "who by a product of three", "a product of three columns",
          Recipe(units=three_columns, logit=by_three), n=1500),
    *pair(WHO, "who by 50 states", "log odds of each state", Recipe(units=_states, logit=by_place), n=1200),
    *pair(WHO, "who by three of 33 columns", "30 numbers and 3 categories",
          Recipe(units=many_columns, logit=by_three_of_many), n=1200),
    world(SIZES, "sizes 1, 2.5, 4 and 5 by region", "a size for each region",
          Recipe(units=_regions, logit=in_columns_one_and_two,
                 sizes=partial(by_region, values=(1.0, 2.5, 4.0, 5.0))), n=1500),
    world(SIZES, "sizes 2 or 4 by region", "a size for each two regions",
          Recipe(units=_regions, logit=in_columns_one_and_two,
                 sizes=partial(by_region, values=(2.0, 4.0, 4.0, 2.0))), n=1500),
    world(SIZES, "sizes that double over ten years", "a drift",
          Recipe(units=years, logit=in_columns_one_and_two, sizes=over_years), n=1500),
    world(SIZES, "sizes of which most are small", "gamma sizes, cv 1.1",
          Recipe(sizes=mostly_small), Bias(4.0), n=2000),
    *pair(TRUTH, "a policy", "some regions differ from some year on",
          Recipe(units=_regions, truth=policy, logit=in_columns_one_and_two), n=1500),
    *pair(TRUTH, "slopes by region", "the environment acts by region",
          Recipe(units=_regions, truth=slopes_by_region, logit=in_columns_one_and_two), n=1500),
    *pair(TRUTH, "a product and a wave", "the environment acts on everybody",
          Recipe(truth=two_products), n=1500),
    *(world("one law at every n", f"one law, n = {n:,}", "two and a half sds", Recipe(), Bias(2.5), n=n,
            hard=n < 1000)
      for n in (300, 1_000, 3_000, 10_000)),
)  # fmt: skip
