"""Totals, means, ratios and quantiles of a sample, with their design-based errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from proxycal.survey.design import Replicates

if TYPE_CHECKING:
    from proxycal.survey.design import Stages

    Design = Stages | Replicates

# A cumulative share this near to the one asked for has reached it.
REACHED = 1e-12


@dataclass(frozen=True, slots=True)
class Estimated:
    """An estimate with its standard error and degrees of freedom."""

    estimate: float
    se: float
    df: float


def estimate(
    weights: np.ndarray,
    design: Design,
    above: np.ndarray,
    below: np.ndarray | None = None,
    domain: np.ndarray | None = None,
) -> Estimated:
    """Weighted sum of `above` (n,), or its ratio to that of `below` (n,), among the rows of a domain (n,).

    A mean is a ratio to ones. The error of a ratio R is that of the sum of (above - R below) / sum of below.

    >>> from proxycal.survey.design import stages_of
    >>> simple = stages_of(4, [], [], [])
    >>> done = estimate(np.full(4, 10.0), simple, np.array([1.0, 2.0, 3.0, 4.0]))
    >>> done.estimate, round(done.se, 3), done.df
    (100.0, 25.82, 3.0)
    """
    inside = np.ones(len(weights), dtype=bool) if domain is None else domain
    top = np.where(inside, above, 0.0)
    bottom = None if below is None else np.where(inside, below, 0.0)
    value = float(_value(weights[None], top, bottom)[0])
    if isinstance(design, Replicates):
        variance = design.variance(_value(design.weights, top, bottom))
    else:
        scores = weights * top
        if bottom is not None:
            scores = weights * (top - value * bottom) / float(weights @ bottom)
        variance = float(design.covariance(scores[:, None])[0, 0])
    return Estimated(value, float(np.sqrt(max(variance, 0.0))), design.degrees(inside & (weights > 0.0)))


def _value(weights: np.ndarray, top: np.ndarray, bottom: np.ndarray | None) -> np.ndarray:
    """Of each row of weights (R, n)."""
    return np.asarray(weights @ top if bottom is None else (weights @ top) / (weights @ bottom))


def quantile(
    weights: np.ndarray,
    design: Design,
    values: np.ndarray,
    q: float,
    domain: np.ndarray | None = None,
    level: float = 0.95,
) -> Estimated:
    """The smallest value that at least a share q of the population does not exceed.

    Its error by Woodruff (1952): the interval of the share below it, at `level`, is turned into values.
    """
    inside = np.ones(len(weights), dtype=bool) if domain is None else domain
    w, x = weights[inside], values[inside]
    at = value_at(x, w, q)
    share = estimate(weights, design, (values <= at).astype(float), np.ones(len(values)), inside)
    t = float(stdtrit(share.df, 0.5 + level / 2.0))
    low, high = share.estimate - t * share.se, share.estimate + t * share.se
    if low < 0.0 or high > 1.0:
        return Estimated(at, float("nan"), share.df)
    return Estimated(at, (value_at(x, w, high) - value_at(x, w, low)) / (2.0 * t), share.df)


def value_at(values: np.ndarray, weights: np.ndarray, q: float) -> float:
    """The smallest value whose cumulative share of the weight reaches q.

    >>> value_at(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]), 0.5)
    2.0
    """
    kept = weights > 0.0
    order = np.argsort(values[kept], kind="stable")
    reached = np.cumsum(weights[kept][order])
    at = int(np.searchsorted(reached, (q - REACHED) * reached[-1], side="left"))
    return float(values[kept][order][min(at, len(order) - 1)])
