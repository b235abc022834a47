"""b by level of a category, or along a numeric column, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from proxycal.methods.gradual.basis import weighted_quantile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from proxycal.methods.gradual.basis import Kind, Term
    from proxycal.methods.gradual.estimate import BiasEstimate

    Array = NDArray[np.float64]

# Points along a numeric column, between the first and the last percent of its rows.
POINTS = 21


@dataclass(frozen=True, slots=True)
class Shape:
    """How the bias depends on one environment column, the others at their mean.

    at : (m,) values, or category codes (OTHER for rare levels that share a coefficient)
    bias, se, low, high : (m,) relative to the first level listed, or to the median of a numeric column
    """

    column: str
    kind: Kind
    at: Array
    bias: Array
    se: Array
    low: Array
    high: Array


def shapes(
    estimate: BiasEstimate,
    mean: Mapping[str, Array],
    columns: Mapping[str, Array],
    weights: Array | None,
    level: float,
) -> tuple[Shape, ...]:
    """One shape for each environment column."""
    quantile = float(stats.t.ppf(0.5 + level / 2.0, estimate.degrees))
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
        zero = at[:1]
    else:
        values = np.asarray(values, dtype=float)
        ends = weighted_quantile(values, np.array([0.01, 0.5, 0.99]), weights)
        at = np.linspace(ends[0], ends[2], POINTS)
        zero = ends[1:2]
    gap = estimate.basis.profile(term.name, at, mean) - estimate.basis.profile(term.name, zero, mean)
    bias = gap @ estimate.coefficients
    se = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", gap, estimate.covariance, gap), 0.0))
    return Shape(term.name, term.kind, at, bias, se, bias - quantile * se, bias + quantile * se)
