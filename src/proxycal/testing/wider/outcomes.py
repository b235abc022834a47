"""Types of outcome: rating scales, counts, rounding and heaping, caps and floors, spikes at zero."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from proxycal.testing.wider.recipe import Bias, Recipe, draw, pair, plain_truth, world
from proxycal.testing.wider.record import WiderWorld

if TYPE_CHECKING:
    from proxycal.testing.wider.recipe import Array, Units, Values
    from proxycal.testing.wider.record import DrawnWorld

SCALES, COUNTS, GRIDS = "rating scales", "counts", "rounding and heaping"
ENDS, ZEROS = "caps and floors", "spikes at zero"
CAPPED = 0.07


def between(u: Units, low: float, high: float, points: int) -> Array:
    """The plain outcome stretched so that [low, high] becomes the range of a rating scale."""
    return 0.5 + (plain_truth(u) - low) * points / (high - low)


def rating(u: Units, x: Array, points: int) -> Values:
    """Whole points from 1 to `points`."""
    return lambda values: np.clip(np.round(values), 1.0, points)


def in_hundreds(u: Units) -> Array:
    """The plain outcome around 50, with a residual sd of about 5."""
    return 50.0 + 4.0 * plain_truth(u)


def to_step(u: Units, x: Array, step: float) -> Values:
    """Everybody rounds to multiples of a step."""
    return lambda values: step * np.round(values / step)


def heaped(u: Units, x: Array, by_environment: bool = False) -> Values:
    """Everybody rounds to whole numbers and two in five to tens, more of them where e_1 is high."""
    chance = expit(-0.4 + 1.2 * u.E[:, 0]) if by_environment else 0.4
    coarse = u.rng.random(u.n) < chance
    return lambda values: np.where(coarse, 10.0 * np.round(values / 10.0), np.round(values))


def capped(u: Units, x: Array) -> Values:
    """The largest reports are written as one top value."""
    top = np.quantile(x, 1.0 - CAPPED)
    return lambda values: np.minimum(values, top)


def floored(u: Units, x: Array) -> Values:
    """The smallest reports are written as one lowest value."""
    bottom = np.quantile(x, CAPPED)
    return lambda values: np.maximum(values, bottom)


def poisson(u: Units) -> Array:
    """Poisson counts of mean 8 or so."""
    return u.rng.poisson(np.exp(2.0 + 0.4 * u.index)).astype(float)


def negative_binomial(u: Units) -> Array:
    """Poisson counts whose means vary by a gamma of shape 6."""
    return u.rng.poisson(np.exp(2.3 + 0.4 * u.index) * u.rng.gamma(6.0, 1.0 / 6.0, u.n)).astype(float)


def with_zeros(u: Units) -> Array:
    """Three in ten rows, more where the content is low, are exactly zero; the others are far from it."""
    positive = u.rng.random(u.n) < expit(1.0 + 0.8 * u.index)
    return np.where(positive, 12.0 + plain_truth(u), 0.0)


def log_of_amounts(u: Units) -> Array:
    """log(1 + amount), where three in ten amounts are zero."""
    amount = np.exp(8.0 + 0.6 * u.content + 0.5 * u.rng.normal(size=u.n))
    return np.where(u.rng.random(u.n) < expit(1.0 + 0.8 * u.index), np.log1p(amount), 0.0)


def round_down(step: float, seed: int, n: int) -> DrawnWorld:
    """The biased round down to multiples of a step, the others to whole numbers."""
    plain = draw(Recipe(truth=in_hundreds), Bias(3.0, "under"), "rounding down", seed, n)
    whole = np.round(plain.y_true)
    y = np.where(plain.a, step * np.floor(whole / step), whole)
    return replace(plain, table=plain.table.assign(y=y), y_true=whole, bias=y - whole)


def _scale(points: int, low: float, high: float, bias: Bias) -> tuple[WiderWorld, WiderWorld]:
    recipe = Recipe(
        truth=partial(between, low=low, high=high, points=points), measure=partial(rating, points=points)
    )
    return pair(SCALES, f"{points} points", f"a rating scale of {points} points", recipe, bias)


def _rounded(step: int) -> tuple[WiderWorld, WiderWorld]:
    recipe = Recipe(truth=in_hundreds, measure=partial(to_step, step=float(step)))
    return pair(GRIDS, f"rounded to {step}", f"everybody rounds to multiples of {step}", recipe)


WORLDS = (
    *_scale(5, -3.0, 6.5, Bias(3.0)),
    *_scale(7, -7.0, 3.3, Bias(3.0, "under")),
    *_scale(11, -4.0, 8.0, Bias(3.0)),
    *pair(COUNTS, "Poisson", "Poisson counts", Recipe(truth=poisson, whole=True)),
    *pair(COUNTS, "negative binomial", "overdispersed counts", Recipe(truth=negative_binomial, whole=True)),
    *_rounded(1),
    *_rounded(5),
    *_rounded(10),
    *pair(GRIDS, "heaping", "two in five round to tens", Recipe(truth=in_hundreds, measure=heaped)),
    world(
        GRIDS,
        "heaping by E, no bias",
        "no bias; the environment decides who rounds to tens",
        Recipe(truth=in_hundreds, measure=partial(heaped, by_environment=True)),
        Bias(0.0),
    ),
    WiderWorld(
        "rounding down to 30",
        GRIDS,
        "the biased round down to multiples of 30",
        partial(round_down, 30.0),
        direction="under",
        size_sd=3.2,
        share=0.35,
        hard=True,
    ),
    *pair(ENDS, "top-coding", "the largest reports are one value", Recipe(measure=capped)),
    *pair(ENDS, "floor", "the smallest reports are one value", Recipe(measure=floored), Bias(3.0, "under")),
    *pair(
        ZEROS,
        "zeros",
        "zeros that the bias leaves alone",
        Recipe(truth=with_zeros, zeros=True, immune=True),
        n=2000,
    ),
    world(ZEROS, "zeros shifted too", "zeros that are biased as well", Recipe(truth=with_zeros, zeros=True)),
    *pair(
        ZEROS,
        "log1p with zeros",
        "log(1 + amount), a share of the amount reported, zeros left alone",
        Recipe(truth=log_of_amounts, zeros=True, immune=True),
        Bias(3.0, "under"),
        n=2000,
    ),
)
