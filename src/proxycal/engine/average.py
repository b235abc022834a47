"""The size of the bias over the models that explain the table about as well, weighted by evidence.

Where content decides who is biased, the proxies show it with noise, and what they do not show is in the true
value: log odds = E's terms + v (m + rho (y* - mean) / b), with b how much the mean rises by m. No proxy tells
rho: 0 where they show content without noise, 1 where the true value itself decides. So the fit with rho = 0
stands beside one whose rho is free between the two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from proxycal.engine.inference import sizes
from proxycal.engine.likelihood import predictors
from proxycal.engine.maximise import maximise
from proxycal.engine.model import Model
from proxycal.engine.search import as_it_is, family_of, second_size, transplanted

if TYPE_CHECKING:
    from proxycal.engine.maximise import Maximum
    from proxycal.engine.search import Table

# Mean and sd of rho, which lies between 0 and 1.
RHO, RHO_SD = 0.5, 0.3
# Slopes of who is biased by content, per sd of it, below which the true value has nothing to say either.
LEAST_SLOPE = 0.05


def alternatives(table: Table, fit: Maximum) -> list[Maximum]:
    """Models beside a fit that may explain the table as well."""
    beside = [*of_other_sizes(table, fit), by_true_value(table, fit)]
    return [each for each in beside if each is not None]


def of_other_sizes(table: Table, fit: Maximum) -> list[Maximum | None]:
    """The fit with other laws of sizes.

    The search adds to a law while that pays and takes nothing back: one that it passed by may be as good. And
    where a second, smaller size does not pay it may still be there: its rows are hard to tell from unbiased
    ones, so that the mean size is less sure than one size has it.
    """
    family = family_of(fit)
    one_size = family.states == 1 and not family.spread
    laws = ((2, False),) if one_size else ((1, True), (2, True))
    others = (replace(family, states=states, spread=spread, through=False) for states, spread in laws)
    begin = second_size(0.5, 0.5) if family.states == 1 else as_it_is
    return [
        table.climb(other, begin if other.states == 2 else as_it_is, fit)
        for other in others
        if other != family
    ]


def by_true_value(table: Table, fit: Maximum) -> Maximum | None:
    """The fit with rho free; None where content does not decide who is biased, or sizes vary.

    A value that stands for a range has no one true value, nor has a report with a size of its own.
    """
    family = family_of(fit)
    if family.spread or family.through or "low" in table.outcome:
        return None
    slope = most_through(table, fit)
    if abs(slope) < LEAST_SLOPE:
        return None
    model = table.terms.model(replace(family, through=True))
    tied = tuple(
        replace(one, start=RHO * slope, prior=RHO_SD * abs(slope)) if one.name == "through" else one
        for one in model.predictors
    )
    model = Model(model.family, tied)
    sample = table.sample(model)
    theta, ridges = transplanted(model, fit, sample.unit_count)
    theta.dense[model.at("through")] = RHO * slope
    return maximise(model, sample, theta, ridges)


def most_through(table: Table, fit: Maximum) -> float:
    """The slope of who is biased by the true value, per sd of its noise, at rho = 1."""
    sample, m = table.sample(fit.model), table.columns["content"][:, -1]
    eta = predictors(fit.model, sample, fit.theta)
    at, w = fit.model.names.index, sample.weights
    centred = m - np.average(m, weights=w)
    rise = (w * centred) @ eta[at("mean")] / max((w * centred) @ centred, 1e-12)
    place = fit.model.places.get(("who", "content"))
    by_content = 0.0 if place is None else float(fit.theta.dense[place][0])
    noise = float(np.exp(np.average(eta[at("scale")], weights=w)))
    return by_content * noise / rise if rise > noise * 1e-3 else 0.0


@dataclass(frozen=True, slots=True)
class Averaged:
    """The mean size among biased rows over several models, in the engine's units.

    alpha, se : mean and sd over all models. low, high : ends of the interval. fits, weights : the models, the
    best of the search first, and how much each counts.
    """

    alpha: float
    se: float
    low: float
    high: float
    fits: tuple[Maximum, ...]
    weights: np.ndarray


def averaged(table: Table, fit: Maximum, level: float = 0.95) -> Averaged:
    """The size of a bias with the interval that holds it, whichever of the models is right."""
    fits = (fit, *alternatives(table, fit))
    found = [sizes(each, table.sample(each.model)) for each in fits]
    evidence = np.array([each.evidence for each in fits])
    weights = np.exp(evidence - evidence.max())
    weights /= weights.sum()
    centres, errors = np.array([each.alpha for each in found]), np.array([each.se for each in found])
    alpha = float(weights @ centres)
    se = float(np.sqrt(weights @ (errors**2 + (centres - alpha) ** 2)))
    return Averaged(alpha, se, *quantiles(weights, centres, errors, level), fits, weights)


def quantiles(
    weights: np.ndarray, centres: np.ndarray, errors: np.ndarray, level: float
) -> tuple[float, float]:
    """The central interval of a mixture of normal distributions.

    >>> low, high = quantiles(np.array([0.5, 0.5]), np.zeros(2), np.ones(2), 0.95)
    >>> round(high, 2)
    1.96
    """
    tail = 0.5 * (1.0 - level)
    far = -float(ndtri(tail)) + 1.0
    ends = float((centres - far * errors).min()), float((centres + far * errors).max())

    def below(value: float, share: float) -> float:
        return float(weights @ ndtr((value - centres) / errors)) - share

    return brentq(below, *ends, (tail,)), brentq(below, *ends, (1.0 - tail,))
