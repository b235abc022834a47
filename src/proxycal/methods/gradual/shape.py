"""b by level of a category, or along a numeric column, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from proxycal.methods.gradual.basis import TRUSTED, weighted_quantile
from proxycal.tails import t_ppf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from proxycal.methods.gradual.basis import Kind, Term
    from proxycal.methods.gradual.estimate import BiasEstimate

    Array = NDArray[np.float64]

# Points along a numeric column, between the first and the last percent of its rows.
POINTS = 21
PLACES = np.array([0.01, 0.1, 0.5, 0.9, 0.99])


@dataclass(frozen=True, slots=True)
class Span:
    """Change of the bias between two places along a number, with its standard error and interval."""

    change: float
    se: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Shape:
    """How the bias depends on one environment column, the others at their mean.

    at : (m,) values, or category codes (OTHER for rare levels that share a coefficient)
    bias, se, low, high : (m,) relative to the first level listed, or to the median of a numeric column; where
    rows are trusted, relative to those
    relative_to : TRUSTED then, else ""
    span : from the 10th to the 90th percentile of a number; of a category, from its first level to its last
    """

    column: str
    kind: Kind
    at: Array
    bias: Array
    se: Array
    low: Array
    high: Array
    relative_to: str
    span: Span


def shapes(
    estimate: BiasEstimate,
    mean: Mapping[str, Array],
    columns: Mapping[str, Array],
    weights: Array | None,
    level: float,
) -> tuple[Shape, ...]:
    """One shape for each environment column."""
    quantile = float(t_ppf(0.5 + level / 2.0, estimate.degrees))
    if estimate.basis.trusted:
        free = columns[TRUSTED] != 1.0
        columns = {name: values[free] for name, values in columns.items()}
        weights = None if weights is None else weights[free]
    return tuple(
        _shape(estimate, term, mean, columns[term.name], weights, quantile) for term in estimate.basis.terms
    )


def _shape(
    estimate: BiasEstimate,
    term: Term,
    mean: Mapping[str, Array],
    values: Array,
    weights: Array | None,
    quantile: float,
) -> Shape:
    if term.kind == "category":
        at = term.levels.astype(float)
        zero, ends = at[:1], at[[0, -1]]
    else:
        values = np.asarray(values, dtype=float)
        first, low, middle, high, last = weighted_quantile(values, PLACES, weights)
        at = np.linspace(first, last, POINTS)
        zero, ends = np.array([middle]), np.array([low, high])
    places = estimate.basis.profile(term.name, at, mean)
    gap = places if estimate.basis.trusted else places - estimate.basis.profile(term.name, zero, mean)
    bias, se = _with_error(estimate, gap)
    step, step_se = _with_error(estimate, np.diff(estimate.basis.profile(term.name, ends, mean), axis=0))
    half = quantile * step_se[0]
    return Shape(
        column=term.name,
        kind=term.kind,
        at=at,
        bias=bias,
        se=se,
        low=bias - quantile * se,
        high=bias + quantile * se,
        relative_to=TRUSTED if estimate.basis.trusted else "",
        span=Span(float(step[0]), float(step_se[0]), float(step[0] - half), float(step[0] + half)),
    )


def _with_error(estimate: BiasEstimate, gap: Array) -> tuple[Array, Array]:
    """Bias of rows (m, q) of the basis, and its standard error."""
    variance = ((gap @ estimate.covariance) * gap).sum(axis=1)
    return gap @ estimate.coefficients, np.sqrt(np.maximum(variance, 0.0))
