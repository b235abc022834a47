"""How large the bias is: one size, sizes that vary, two or three sizes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from proxycal.testing.wider.recipe import Bias, Recipe, world

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxycal.testing.wider.recipe import Array, Units
    from proxycal.testing.wider.record import WiderWorld

FAMILY = "sizes"


def normal(u: Units, t: Array, cv: float) -> Array:
    """Normal sizes of mean 1."""
    return 1.0 + cv * u.rng.normal(size=u.n)


def gamma(u: Units, t: Array, cv: float) -> Array:
    """Gamma sizes of mean 1."""
    return u.rng.gamma(cv**-2, cv**2, u.n)


def lognormal(u: Units, t: Array, cv: float) -> Array:
    """Lognormal sizes of mean 1."""
    variance = np.log1p(cv**2)
    return u.rng.lognormal(-variance / 2.0, np.sqrt(variance), u.n)


def uniform(u: Units, t: Array) -> Array:
    """Uniform sizes between a third and five thirds."""
    return u.rng.uniform(1.0 / 3.0, 5.0 / 3.0, u.n)


def linear_in_content(u: Units, t: Array) -> Array:
    """Sizes that grow with the content and stay above a tenth."""
    return np.maximum(1.0 + 0.25 * u.index, 0.1)


def of_states(u: Units, t: Array, states: tuple[float, ...]) -> Array:
    """One of several sizes, larger where the second environment column is high; relative to their mean."""
    tilt = 0.5 * u.E[:, 1]
    rank = sum((u.rng.random(u.n) < expit(tilt)).astype(int) for _ in range(len(states) - 1))
    return np.array(states)[rank] / np.mean(states)


def _vary(
    name: str, about: str, sizes: Callable[[Units, Array], Array], bias: Bias, n: int = 1000
) -> WiderWorld:
    return world(FAMILY, name, about, Recipe(sizes=sizes), bias, n=n)


WORLDS = (
    world(FAMILY, "one size, 2 sd", "everybody biased by two sds", Recipe(), Bias(2.0), n=2000),
    world(FAMILY, "one size, 3 sd", "everybody biased by three sds", Recipe()),
    world(FAMILY, "one size, 5 sd", "everybody biased by five sds", Recipe(), Bias(5.0)),
    world(FAMILY, "one size, under", "under-reporting by three sds", Recipe(), Bias(3.0, "under")),
    _vary("normal sizes, cv 0.3", "normal sizes", partial(normal, cv=0.3), Bias(3.0)),
    _vary("gamma sizes, cv 0.3", "gamma sizes, cv 0.3", partial(gamma, cv=0.3), Bias(5.0)),
    _vary("gamma sizes, cv 0.6", "gamma sizes, cv 0.6", partial(gamma, cv=0.6), Bias(3.0), 2000),
    _vary("gamma sizes, cv 1.0", "gamma sizes, cv 1.0", partial(gamma, cv=1.0), Bias(3.0), 2000),
    _vary("gamma sizes, under", "gamma sizes, cv 0.6", partial(gamma, cv=0.6), Bias(5.0, "under")),
    _vary("lognormal sizes", "lognormal sizes, cv 0.6", partial(lognormal, cv=0.6), Bias(3.0), 2000),
    _vary("uniform sizes", "uniform sizes from one to five sds", uniform, Bias(3.0)),
    _vary("sizes by content", "sizes that grow with the content", linear_in_content, Bias(3.0)),
    _vary("states 0, 1 and 4", "one or four sds", partial(of_states, states=(1.0, 4.0)), Bias(2.5), 2000),
    _vary("states 0, 2 and 5", "two or five sds", partial(of_states, states=(2.0, 5.0)), Bias(3.5), 2000),
    _vary(
        "four states", "one, three or six sds", partial(of_states, states=(1.0, 3.0, 6.0)), Bias(10 / 3), 2000
    ),
)
