"""What the gradual method would say of a table that another method was fitted to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from proxycal.methods.crosschecks import attempt
from proxycal.methods.registry import METHODS
from proxycal.result import Estimate, Finding
from proxycal.table.surface import choose

if TYPE_CHECKING:
    from proxycal.methods.registry import MethodFit
    from proxycal.result import Verdict
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays

NAME = "gradual"


@dataclass(frozen=True, slots=True)
class Beside:
    """A row of the summary, and what it means; none where it was not asked."""

    estimates: tuple[Estimate, ...] = ()
    findings: tuple[Finding, ...] = ()


def beside(arrays: Arrays, settings: Settings, verdict: Verdict) -> Beside:
    """Fit the gradual method too: a row of the summary, and a finding where no bias of two states was found.

    Where one was found, the gradual method averages over both states: the row says that it is another
    reading of the same table.
    """
    if METHODS[settings.method].family != "normal":
        # A share of a count or of a yes is no number that the environment adds.
        return Beside()
    if settings.method == NAME or arrays.validated == arrays.n:
        # Where the truth of every row is known, there is none left to take a graded bias off.
        return Beside()
    asked = replace(settings, method=NAME, effect="constant", interval="sandwich")
    return attempt(
        lambda: _beside(METHODS[NAME].fit_row(arrays, asked), settings, verdict), partial(_failed, verdict)
    )


def _failed(verdict: Verdict, why: str) -> Beside:
    """The row and the finding where the gradual method cannot be fitted, which changes nothing else."""
    own = Estimate.missing(NAME, why)
    return Beside((own,), () if verdict == "bias found" else (_finding("not identified", own, "", 0.0),))


def _beside(fit: MethodFit, settings: Settings, verdict: Verdict) -> Beside:
    refused = fit.verdict == "not identified"
    reasons = [finding.reading for finding in fit.findings if not finding.ok]
    own = Estimate.missing(NAME, reasons[0]) if refused and reasons else fit.estimate
    if verdict == "bias found":
        instead = f"if every row had a bias that changes gradually with the environment: {own.note}"
        return Beside((own if refused else replace(own, note=instead),))
    return Beside((own,), (_finding(fit.verdict, own, fit.details.claim, settings.level),))


def _finding(verdict: Verdict, own: Estimate, claim: str, level: float) -> Finding:
    found = verdict == "bias found"
    size = f"{own.alpha:.4g} ({level * 100:g}% interval {own.low:.4g} to {own.high:.4g})"
    if found:
        reading = f"If every row has a bias that changes gradually with the environment, it is {size}"
        reading += f" {claim}."
    elif verdict == "no bias found":
        reading = "A bias that changes gradually with the environment is not found either."
    else:
        reading = f"Nothing can be said about a bias that changes gradually with the environment: {own.note}"
    return Finding(
        "What if the bias changes gradually with the environment?",
        size if found else verdict,
        reading,
        f"If you accept that assumption, {choose('method', NAME)}." if found else "Nothing to do.",
        ok=True,
        topic=NAME,
        value=own.alpha if found else None,
    )
