"""Findings that every method can make about estimates that rest on different assumptions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from proxycal.errors import ProxycalError
from proxycal.mixture.thresholds import THRESHOLDS
from proxycal.result import Finding

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxycal.result import Estimate

T = TypeVar("T")

# What arithmetic on an odd table ends with: a matrix without an inverse, a number out of range, a refusal.
FAILURES = (ProxycalError, np.linalg.LinAlgError, ValueError, ArithmeticError)


def attempt(compute: Callable[[], T], instead: Callable[[str], T]) -> T:
    """A side computation, which never ends a fit: where it fails, what to say instead, given why.

    >>> attempt(lambda: 1.0 / 0.0, lambda why: why)
    'it could not be computed (ZeroDivisionError: float division by zero)'
    """
    try:
        return compute()
    except ProxycalError as error:
        return instead(str(error))
    except FAILURES as error:
        return instead(f"it could not be computed ({type(error).__name__}: {error})")


def attempted(question: str, topic: str, compute: Callable[[], Finding]) -> Finding:
    """The finding of a check, or that it could not be made."""

    def failed(why: str) -> Finding:
        return Finding(
            question,
            "no answer",
            f"Not answered: {why}.",
            "Look for columns that are nearly the same and for extreme values; nothing else depends on it.",
            ok=True,
            topic=topic,
        )

    return attempt(compute, failed)


def apart(first: Estimate, second: Estimate) -> float:
    """Distance of two estimates in standard errors of their difference; NaN where one has no answer."""
    if not (_answered(first) and _answered(second)):
        return math.nan
    error = math.hypot(first.se, second.se)
    return abs(first.alpha - second.alpha) / error if error > 0.0 else math.inf


def _answered(estimate: Estimate) -> bool:
    return math.isfinite(estimate.alpha) and math.isfinite(estimate.se)


def agreement(first: Estimate, second: Estimate, topic: str) -> Finding:
    """Whether two estimators agree within their errors."""
    question = f"Do {first.name} and {second.name} agree?"
    distance = apart(first, second)
    if math.isnan(distance):
        silent = second if _answered(first) else first
        return Finding(
            question,
            statistic="no second estimate",
            reading=f"Not compared: '{silent.name}' gave no estimate. {silent.note}".strip(),
            remedy="Nothing to do; there is no cross-check.",
            ok=True,
            topic=topic,
        )
    ok = distance <= THRESHOLDS.agreement_se
    names = f"The estimates of '{first.name}' and '{second.name}', which rely on different assumptions,"
    numbers = f"{first.alpha:#.3g} against {second.alpha:#.3g}, {distance:.1f} standard errors apart"
    return Finding(
        question,
        statistic=numbers,
        reading=(
            f"{names} agree ({numbers})."
            if ok
            else f"{names} disagree ({numbers}): at least one of the assumptions fails."
        ),
        remedy="Nothing to do." if ok else "Look at the proxies first: did one of them see the report?",
        ok=ok,
        topic=topic,
        value=distance if math.isfinite(distance) else None,
    )


def beside_matching(own: Estimate, match: Estimate) -> Finding:
    """The matched estimate beside another: it is shown, and decides nothing.

    Rows are matched by what they report: of those that are more likely biased than not, more have noise in
    the direction of the bias. In any number of rows that overstates a size near the noise.
    """
    finding = agreement(own, match, "agreement with matching")
    if finding.ok:
        return finding
    return replace(
        finding,
        reading=(
            f"'{match.name}' differs from '{own.name}' ({finding.statistic}). It counts every row that is "
            "more likely biased than not as biased, which overstates a size near the noise, so it decides "
            "nothing."
        ),
        remedy="Nothing to do.",
        ok=True,
    )


def first_stage(f: float) -> Finding:
    """Whether the environment moves what the proxies leave of the outcome."""
    known = math.isfinite(f)
    ok = known and f >= THRESHOLDS.weak_f
    if not known:
        reading = "Not tested: how the environment shifts the outcome could not be computed."
    elif ok:
        reading = f"The environment shifts the outcome beyond its content (first-stage F {f:.1f})."
    else:
        reading = (
            "The environment hardly shifts the outcome beyond its content (an F statistic of "
            f"{f:.1f}; {THRESHOLDS.weak_f:.0f} or more would do), so the moments say little."
        )
    return Finding(
        question="Does the environment shift the outcome beyond its content?",
        statistic=f"first-stage F {f:.1f}" if known else "first-stage F unknown",
        reading=reading,
        remedy="Nothing to do." if ok else "Add environment columns that drive who misreports.",
        ok=ok,
        topic="first-stage",
        value=f if known else None,
    )
