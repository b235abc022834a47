"""Findings that every method can make about estimates that rest on different assumptions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from proxycal.mixture.thresholds import THRESHOLDS
from proxycal.result import Finding

if TYPE_CHECKING:
    from proxycal.result import Estimate


def apart(one: Estimate, other: Estimate) -> float:
    """Distance of two estimates in standard errors of their difference; NaN where one has no answer."""
    error = math.hypot(one.se, other.se)
    if not math.isfinite(error) or not math.isfinite(other.alpha) or not math.isfinite(one.alpha):
        return math.nan
    return abs(one.alpha - other.alpha) / error if error > 0.0 else math.inf


def agreement(one: Estimate, other: Estimate, topic: str) -> Finding:
    """Whether two estimators agree within their errors."""
    question = f"Do {one.name} and {other.name} agree?"
    distance = apart(one, other)
    if math.isnan(distance):
        return Finding(
            question,
            statistic="no second estimate",
            reading=f"'{other.name}' gave no answer. {other.note}".strip(),
            remedy="Nothing to do; there is no cross-check.",
            ok=True,
            topic=topic,
        )
    ok = distance <= THRESHOLDS.agreement_se
    return Finding(
        question,
        statistic=f"{one.alpha:.4g} against {other.alpha:.4g}, {distance:.1f} standard errors apart",
        reading=(
            "Two estimates that rest on different assumptions agree."
            if ok
            else "Two estimates that rest on different assumptions disagree: at least one assumption fails."
        ),
        remedy="Nothing to do." if ok else "Look at the proxies first: does one of them see the reporter?",
        ok=ok,
        topic=topic,
        value=distance if math.isfinite(distance) else None,
    )


def first_stage(f: float) -> Finding:
    """Whether the environment moves what the proxies leave of the outcome."""
    known = math.isfinite(f)
    ok = known and f >= THRESHOLDS.weak_f
    return Finding(
        question="Does the environment move the bias?",
        statistic=f"first-stage F {f:.1f}" if known else "first-stage F unknown",
        reading=(
            "The environment shifts the outcome beyond its content."
            if ok
            else "The environment hardly shifts the outcome beyond its content, so the moments are weak."
        ),
        remedy="Nothing to do." if ok else "Add environment columns that drive who misreports.",
        ok=ok,
        topic="first-stage",
        value=f if known else None,
    )
