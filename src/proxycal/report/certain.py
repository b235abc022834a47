"""What would make an answer more certain and by how much; what an audit has taught and whether to go on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from proxycal.questions.certainty import AUDITED, certainty
from proxycal.report.helps import helps
from proxycal.report.numbers import sized

if TYPE_CHECKING:
    from proxycal.result import Fit

# A report this near to the truth, relative to it, is right: either may have been rounded.
_RIGHT = 0.01
# Rows without which nothing is learned from an audit.
_LEAST = 30


def more_certain(fit: Fit) -> tuple[str, ...]:
    """What would narrow the answer, with numbers where they can be computed, most helpful first."""
    if fit.method_fit.details.by_validation:
        return go_on(fit)
    known = certainty(fit)
    lines = []
    if math.isfinite(known.now):
        lines.append(
            f"Now the total is known to within {_within(known.now)} (half of its interval). Twice as many "
            f"rows of the same kind would bring that to about {_within(known.twice)}."
        )
    if math.isfinite(known.audited):
        lines.append(_of_audit(known.audited, known.now, known.supposed))
    of_audit = f" {AUDITED} rows (role truth)" if math.isfinite(known.audited) else None
    # What the audit would give was said with its number.
    others = [item.text for item in helps(fit) if of_audit is None or of_audit not in item.text]
    return (*lines, *others)


def _within(half: float) -> str:
    return f"{100.0 * half:.2g}%"


def _of_audit(audited: float, now: float, supposed: bool) -> str:
    rows = f"The true values of {AUDITED} rows, chosen by `plan_audit`,"
    if supposed:
        return (
            f"{rows} would give the total to within about {_within(audited)}, if the bias is as large as it "
            "looks here; without them it stays open."
        )
    if audited < now:
        return f"{rows} would bring it to about {_within(audited)}."
    return (
        f"{rows} alone would give it to within {_within(audited)}: no more than the proxies do, but they "
        "would show whether the proxies are right."
    )


def learned(truth: np.ndarray, y: np.ndarray, sign: float) -> str:
    """What checked rows say by themselves; truth, y : (n,) of the rows that were checked.

    >>> learned(np.array([100.0, 100.0, 50.0]), np.array([60.0, 100.0, 50.0]), -1.0)
    '3 rows were checked. 1 is too low; it reports 60% of the truth. 2 are right to 1%.'
    """
    away = sign * (y - truth)
    near = _RIGHT * np.abs(truth)
    biased, other = away > near, away < -near
    way, against = ("high", "low") if sign > 0 else ("low", "high")
    said = [f"{len(truth):,} {'row was' if len(truth) == 1 else 'rows were'} checked."]
    count = int(biased.sum())
    if count:
        size = f"are off by {sized(float(np.median(away[biased])))}"
        if (truth > 0.0).all():
            ratio = float(np.median(y[biased] / truth[biased]))
            size = f"report {ratio:.0%} of the truth"
        single = size.replace("are", "is", 1).replace("report", "reports", 1)
        them = f"typically they {size}" if count > 1 else f"it {single}"
        said.append(f"{_are(count)} too {way}; {them}.")
    if other.any():
        said.append(f"{_are(int(other.sum()))} too {against}.")
    right = len(truth) - count - int(other.sum())
    said.append(f"{_are(right)} right to {_RIGHT:.0%}." if right else "None is right.")
    return " ".join(said)


def _are(count: int) -> str:
    return f"{count:,} {'is' if count == 1 else 'are'}"


def go_on(fit: Fit) -> tuple[str, ...]:
    """Whether to check more rows, of a fit that learned from checked ones."""
    rows = fit.training.truth
    checked = 0 if rows is None else int(np.isfinite(rows).sum())
    now = certainty(fit).now
    if not math.isfinite(now) or not checked:
        return (f"With {_LEAST} rows checked or more the calibration is learned from them.",)
    return (
        f"With {checked} rows checked the total is known to within {_within(now)} (half of its interval).",
        f"As many again would bring that to about {_within(now / math.sqrt(2.0))}, {3 * checked} more to "
        f"about {_within(now / 2.0)}. Stop where that no longer changes what you would decide.",
    )
