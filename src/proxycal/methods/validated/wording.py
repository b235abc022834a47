"""What validated rows show, in words: of the bias, of the errors, and how the answer was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.methods.validated.thresholds import SHOWN_T
from proxycal.result import Finding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proxycal.methods.registry import MethodFit
    from proxycal.methods.validated.gaps import GapReading
    from proxycal.methods.validated.stack import Stack
    from proxycal.result import Verdict

# What a candidate is called where a reader sees it.
WORDS = {
    "report": "the report as it is",
    "offset": "the report less its mean error",
    "linear": "regression calibration",
    "ridge": "ridge regression of the error",
    "exact": "the two-state model",
    "gradual": "the graded bias",
    "two errors": "a mixture of two kinds of error",
    "graded errors": "a mixture of errors that follow the columns",
    "three errors": "a mixture of three kinds of error",
    "validated errors": "an error mixture of the validated rows alone",
    "ridge on answers": "a ridge regression on all answers",
    "trees": "boosted trees",
}


def note(reading: GapReading) -> str:
    """What the summary says beside alpha."""
    return f"mean error of the biased among {reading.n} validated rows"


def findings(
    verdict: Verdict,
    reading: GapReading,
    exact: MethodFit,
    stack: Stack,
    names: tuple[str, ...],
    others: int,
    untaught: Mapping[str, int],
) -> tuple[Finding, ...]:
    """The reason for the verdict first, then what the errors look like and how the answer was chosen."""
    found = [shown_bias(verdict, reading, exact), error_shape(reading, exact), chosen(stack, names)]
    if untaught:
        found.append(levels_without_truth(untaught))
    if others == 0:
        found.append(nothing_left(reading.n))
    return tuple(found)


def shown_bias(verdict: Verdict, reading: GapReading, exact: MethodFit) -> Finding:
    """Whether validated rows show a bias of the stated direction."""
    numbers = f"mean error {reading.mean:.4g} ± {reading.mean_se:.2g} in {reading.n} validated rows"
    remedy = "Nothing to do."
    if verdict == "bias found":
        reading_text = (
            f"Validated rows show the bias: their reports are off by {reading.mean:.4g} on average in the "
            f"stated direction ({reading.t:.1f} standard errors)."
        )
    elif reading.t <= -SHOWN_T:
        reading_text = (
            f"Validated rows are off by {-reading.mean:.4g} on average against the stated direction "
            f"({-reading.t:.1f} standard errors)."
        )
        remedy = "Check the direction and the sign of the truth column."
    elif verdict == "not identified":
        reading_text = (
            f"The model without validated rows finds a bias of {exact.estimate.alpha:.4g}, and the "
            f"{reading.n} validated rows neither confirm nor rule it out (mean error {reading.mean:.4g} ± "
            f"{reading.mean_se:.2g})."
        )
        remedy = "Validate more rows: plan_audit says which."
    else:
        reading_text = (
            f"Validated rows show no bias: their mean error, {reading.mean:.4g}, is {abs(reading.t):.1f} "
            "standard errors from 0."
        )
    return Finding(
        "Do validated rows show the bias?",
        numbers,
        reading_text,
        remedy,
        ok=verdict != "not identified",
        topic="validated",
        value=reading.t if np.isfinite(reading.t) else None,
    )


def error_shape(reading: GapReading, exact: MethodFit) -> Finding:
    """What the errors look like, beside the model of two states and one size."""
    alpha, share = f"{reading.alpha:.4g}", f"{reading.share:.0%}"
    text = {
        "none": "The errors of validated rows have no direction",
        "one size": f"The errors of validated rows have two states: {share} are off by about {alpha}, the "
        "others by nothing but noise",
        "two sizes": f"Among validated rows {share} are biased, by more than one size: {alpha} on average",
        "sizes that vary": f"Among validated rows {share} are biased, by sizes that vary (mean {alpha}, "
        f"coefficient of variation {reading.cv:.2g})",
        "continuous": f"The errors of validated rows are continuous around {reading.mean:.4g}: no row is "
        "simply unbiased",
    }[reading.shape]
    if reading.grows:
        way = "grow" if reading.slope > 0 else "shrink"
        text += f"; they {way} with the true value ({reading.slope:+.2g} per unit)"
    fits = reading.shape in ("none", "one size") and not reading.grows
    model = (
        ""
        if fits or exact.verdict != "bias found"
        else (
            f" The model of one size says {exact.estimate.alpha:.4g}; the answer for rows does not rest on "
            "it alone."
        )
    )
    return Finding(
        "What do the errors look like?",
        f"{reading.shape}, alpha {alpha}, share {share}",
        f"{text}.{model}",
        "Nothing to do.",
        ok=True,
        topic="error-shape",
        value=reading.alpha,
    )


def chosen(stack: Stack, names: tuple[str, ...]) -> Finding:
    """Which candidates the answer follows, and how much error that leaves."""
    report, base = float(stack.rmse[0]), names[stack.base]
    if stack.left_base:
        order = [int(j) for j in np.argsort(-stack.weights, kind="stable") if stack.weights[j] >= 0.05]
        parts = ", ".join(f"{WORDS[names[j]]} ({stack.weights[j]:.0%})" for j in order)
        how = f"combines {parts}"
    else:
        how = f"is {WORDS[base]}: what the other candidates add made it worse"
    return Finding(
        "How is the calibrated value computed?",
        f"root mean squared error {stack.own:.4g} out of fold, report {report:.4g}",
        f"On validated rows that it was not shown, the calibrated value is off by {stack.own:.4g} (root mean "
        f"square), the report by {report:.4g}, {WORDS[base]} by {stack.rmse[stack.base]:.4g}; it {how}.",
        "Nothing to do.",
        ok=True,
        topic="answer",
        value=stack.own,
    )


def levels_without_truth(rows: Mapping[str, int]) -> Finding:
    """Said where some rows have a level that no validated row has; rows : how many, by level."""
    count = sum(rows.values())
    named = ", ".join(f"{level} ({held:,})" for level, held in list(rows.items())[:5])
    more = f" and {len(rows) - 5} more" if len(rows) > 5 else ""
    return Finding(
        "Do validated rows have every level?",
        f"{len(rows)} without a validated row",
        f"No validated row has {named}{more}: what such a level does to a report is unknown, so it counts as "
        "average, and these rows are calibrated by their report and their other columns.",
        "Validate rows of these levels, or group them with similar ones.",
        ok=False,
        topic="level-not-validated",
        value=float(count),
    )


def nothing_left(n: int) -> Finding:
    """Said where every row is validated."""
    return Finding(
        "Are there rows to calibrate?",
        f"{n} of {n} rows validated",
        f"All {n} rows are validated: their calibrated value is their truth, and nothing is left to "
        "calibrate.",
        "Add rows without a truth, or use the truth itself.",
        ok=True,
        topic="all-validated",
        value=float(n),
    )
