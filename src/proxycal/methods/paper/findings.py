"""What the paper's method can say for itself: the evidence of a fit, its findings and its verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proxycal.methods.crosschecks import agreement, first_stage
from proxycal.result import Finding, number

if TYPE_CHECKING:
    from proxycal.result import Estimate, Verdict

# Of the nearest rows, how many an approximate search should find.
ENOUGH_FOUND = 0.95


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the verdict of a fit rests on.

    collapsed, kl, score_share : does the score of stage 2 say anything? KL in nats, share of y's variance.
    active_units, d_z : latents of stage 1 that carry content, and how many there are.
    two_groups, bic_gain : does the score fall into two groups on the validation rows?
    first_stage_f : does the environment move what the proxies leave of the outcome?
    best_epochs, stopped : kept epoch and why training ended, of both stages.
    recall : share of the nearest rows that the search for matches found, 1 where it is exact.
    """

    collapsed: bool
    kl: float
    score_share: float
    active_units: int
    d_z: int
    two_groups: bool
    bic_gain: float
    first_stage_f: float
    best_epochs: tuple[int, int]
    stopped: tuple[str, str]
    recall: float = 1.0

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Evidence:
        """The evidence from what JSON keeps of it."""
        first, second = values["best_epochs"]
        content, bias = values["stopped"]
        rest: dict[str, Any] = {
            name: number(values[name])
            for name in ("kl", "score_share", "bic_gain", "first_stage_f", "recall")
        }
        rest |= {"best_epochs": (int(first), int(second)), "stopped": (str(content), str(bias))}
        return cls(**values | rest)


def verdict(evidence: Evidence, match: Estimate, moments: Estimate) -> Verdict:
    """A bias is found with a living score, two groups, an interval above 0 and moments that agree.

    The method has no null comparison and cannot say "no bias found": all else is "not identified".
    """
    found = not evidence.collapsed and evidence.two_groups and match.excludes_zero
    agreed = agreement(match, moments, "agreement").ok
    return "bias found" if found and agreed else "not identified"


def findings(evidence: Evidence, match: Estimate, moments: Estimate) -> tuple[Finding, ...]:
    """The reasons for the verdict first, then the cross-checks."""
    return (
        _collapse(evidence),
        _groups(evidence),
        _interval(match),
        _content(evidence),
        agreement(match, moments, "agreement"),
        first_stage(evidence.first_stage_f),
        _training(evidence),
        *_search(evidence),
    )


def _collapse(evidence: Evidence) -> Finding:
    return Finding(
        question="Does the bias score of stage 2 say anything?",
        statistic=f"KL {evidence.kl:.3g} nats, {evidence.score_share:.1%} of the outcome's variance",
        reading=(
            "Stage 2 collapsed: its score is empty, and the shift, if there is one, was taken for noise."
            if evidence.collapsed
            else "The score carries information about the outcome beyond its content."
        ),
        remedy=(
            "Use method='exact', which cannot collapse, or lower beta."
            if evidence.collapsed
            else "Nothing to do."
        ),
        ok=not evidence.collapsed,
        topic="collapse",
        value=evidence.kl,
    )


def _groups(evidence: Evidence) -> Finding:
    return Finding(
        question="Does the score fall into two groups?",
        statistic=f"BIC gain of two groups over one: {evidence.bic_gain:.1f} (validation rows)",
        reading=(
            "Two groups describe the score better than one."
            if evidence.two_groups
            else "One group describes the score as well as two: nobody can be told to be biased."
        ),
        remedy=(
            "Nothing to do."
            if evidence.two_groups
            else "More rows, or proxies that explain more of the outcome, would separate the groups."
        ),
        ok=evidence.two_groups,
        topic="groups",
        value=evidence.bic_gain,
    )


def _interval(match: Estimate) -> Finding:
    return Finding(
        question="Is the matched difference above 0?",
        statistic=f"{match.low:.4g} to {match.high:.4g}",
        reading=(
            "The interval of alpha excludes 0. It covers the error of matching, not that of the two stages."
            if match.excludes_zero
            else "The interval of alpha includes 0: the rows called biased report no more than their matches."
        ),
        remedy=(
            "Compare with method='exact' before acting on it."
            if match.excludes_zero
            else "More rows would narrow it."
        ),
        ok=match.excludes_zero,
        topic="interval",
        value=match.low,
    )


def _content(evidence: Evidence) -> Finding:
    active = evidence.active_units
    return Finding(
        question="Do the proxies carry content?",
        statistic=f"{active} of {evidence.d_z} latents active",
        reading=(
            "Stage 1 found content in the proxies."
            if active
            else "Stage 1 found nothing in the proxies beyond the environment: rows cannot be matched."
        ),
        remedy="Nothing to do." if active else "Use proxies that see what the outcome measures.",
        ok=active > 0,
        topic="content",
        value=float(active),
    )


def _training(evidence: Evidence) -> Finding:
    ok = min(evidence.best_epochs) > 1
    content, bias = evidence.stopped
    return Finding(
        question="Did both stages learn?",
        statistic=f"content: {content}; bias: {bias}",
        reading=(
            "Both stages improved on held-out rows."
            if ok
            else "A stage was at its best after one epoch: on held-out rows it learned nothing further."
        ),
        remedy="Nothing to do." if ok else "Lower learning_rate or width, or bring more rows.",
        ok=ok,
        topic="training",
        value=float(min(evidence.best_epochs)),
    )


def _search(evidence: Evidence) -> list[Finding]:
    """Said only where the rows were too many for an exact search."""
    if evidence.recall == 1.0:
        return []
    ok = evidence.recall >= ENOUGH_FOUND
    return [
        Finding(
            question="Were the nearest rows found?",
            statistic=f"{evidence.recall:.1%} of the exact matches of a sample of rows",
            reading=(
                "Matches were searched by an approximate index, and nearly all are those of an exact search."
                if ok
                else "Matches were searched by an approximate index, which missed many of the nearest rows."
            ),
            remedy="Nothing to do." if ok else "Lower d_z: up to 6 latents are searched exactly.",
            ok=ok,
            topic="search",
            value=evidence.recall,
        )
    ]
