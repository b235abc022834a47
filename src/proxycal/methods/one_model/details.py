"""What a page shows of a fitted model: how it spreads around the content, and what drives who is biased."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from proxycal.effect.coefficients import WHO
from proxycal.methods.one_model.evidence import SIZES_VARY
from proxycal.methods.one_model.more_rows import rows_needed
from proxycal.result import Curve, Details, GateTerm

if TYPE_CHECKING:
    from proxycal.effect.coefficients import Coefficients
    from proxycal.engine.families.normal import Part
    from proxycal.methods.one_model.evidence import Evidence
    from proxycal.methods.one_model.law import Law
    from proxycal.table.encode import Arrays

# Rows whose normal curves are averaged, and places of a curve.
CURVE_ROWS, CURVE_POINTS = 1_000, 400


def kept_details(curve: Curve, gate: tuple[GateTerm, ...], components: int) -> Details:
    """What does not follow from the evidence; components : of the noise."""
    return Details(curve=curve, gate=gate, models_shape=components > 1, models_noise=True, models_direct=True)


def with_law(details: Details, evidence: Evidence) -> Details:
    """The details with what the evidence says of the law of the bias."""
    law = evidence.law
    if law and evidence.cv > SIZES_VARY:
        law = f"{law} (coefficient of variation {evidence.cv:.2f})"
    return replace(
        details,
        law=law,
        unit="clusters" if evidence.whole_clusters else "rows",
        detectable=evidence.detectable_size,
        rows_needed=rows_needed(evidence),
    )


def curve_of(law: Law, arrays: Arrays, gap: np.ndarray, sign: float) -> Curve:
    """The model around its content in the outcome's own units, over the range of `gap`, turned."""
    rows = np.arange(0, arrays.n, max(1, arrays.n // CURVE_ROWS))
    few = arrays.take(rows)
    eta = law.predictors(law.model.designs(law.covariates(few)))
    content = law.family.unbiased_mean(eta)
    weights = few.weights / few.weights.sum()
    margin = 0.05 * float(np.ptp(gap)) or 1.0
    at = np.linspace(float(gap.min()) - margin, float(gap.max()) + margin, CURVE_POINTS)
    parts = law.family.states_of(eta)
    below = [_below(at / law.unit, part, content, weights) for part in parts]
    if sign < 0.0:
        # What lies below -t in the mirrored outcome lies above t in its own.
        total = [sum(float(weights @ share) for share, _, _ in part) for part in parts]
        at, below = -at[::-1], [all_of - part[::-1] for all_of, part in zip(total, below, strict=True)]
    return Curve(at, below[0], below[1])


def _below(at: np.ndarray, parts: list[Part], content: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Share of the rows in these parts that lie below each place (m,) beside their content."""
    total = np.zeros(len(at))
    for share, centre, variance in parts:
        total += ndtr((at[:, None] - (centre - content)) / np.sqrt(variance)) @ (weights * share)
    return total


def gate_terms(found: Coefficients, arrays: Arrays, level: float) -> tuple[GateTerm, ...]:
    """What multiplies the odds of being biased, by encoded environment column."""
    at = found.at(WHO)[1:]
    slope = found.estimate[at]
    reach = float(ndtri(0.5 + level / 2.0)) * np.sqrt(np.maximum(np.diag(found.cov)[at], 0.0))
    names = zip(arrays.environment_names, arrays.environment_source, arrays.categorical, strict=True)
    return tuple(
        GateTerm(
            column=source,
            level=name.removeprefix(f"{source}=") if categorical else None,
            reference=_reference(arrays, source) if categorical else None,
            odds=_exp(b),
            low=_exp(b - r),
            high=_exp(b + r),
        )
        for (name, source, categorical), b, r in zip(names, slope, reach, strict=True)
    )


def _reference(arrays: Arrays, source: str) -> str | None:
    named = {
        name.removeprefix(f"{source}=")
        for name, of in zip(arrays.environment_names, arrays.environment_source, strict=True)
        if of == source
    }
    left = [level for level in arrays.level_names.get(source, ()) if level not in named]
    return left[0] if len(left) == 1 else None


def _exp(value: float) -> float:
    return math.exp(min(max(float(value), -700.0), 700.0)) if math.isfinite(value) else math.nan
