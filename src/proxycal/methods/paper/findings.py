"""The evidence of a fit by the paper's method, the verdict that follows from it, and its findings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proxycal.methods.crosschecks import agreement, first_stage
from proxycal.methods.paper.thresholds import ENOUGH_RECALL, TWO_GROUPS_GAIN, UNTRAINED_EPOCH
from proxycal.result import Finding, number

if TYPE_CHECKING:
    from proxycal.result import Estimate, Verdict


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the verdict of a fit rests on.

    collapsed, kl, score_share : is the score of stage 2 empty? KL in nats, share of y's variance.
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
    """A bias is found with a score that is not empty, two groups, an interval above 0 and moments that agree.

    The method has no null comparison and cannot say "no bias found": all else is "not identified".
    """
    shown = not evidence.collapsed and evidence.two_groups and match.excludes_zero
    agreed = agreement(match, moments, "agreement").ok
    return "bias found" if shown and agreed else "not identified"


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


def rows_seen(stage_1: int, others: int) -> list[Finding]:
    """Which rows each stage saw; said only where those differ."""
    if not stage_1:
        return []
    return [
        Finding(
            question="Which rows did each stage see?",
            statistic=f"stage 1: {stage_1} rows; stage 2, groups, matching and checks: {others}",
            reading=(
                f"Content was learned from all {stage_1} rows, in mini-batches from disk. The score, the "
                f"groups, alpha and its interval come from a sample of {others} of them."
            ),
            remedy="Nothing to do; method='exact' fits alpha and its interval to all rows.",
            ok=True,
            topic="content",
        )
    ]


def _collapse(evidence: Evidence) -> Finding:
    statistic = f"KL {evidence.kl:.3g} nats, {evidence.score_share:.1%} of the outcome's variance"
    return Finding(
        question="Does the bias score of stage 2 carry information?",
        statistic=statistic,
        reading=(
            f"Stage 2 collapsed: its bias score is empty ({statistic}), and a shift, if there is one, was "
            "taken for noise."
            if evidence.collapsed
            else f"The bias score carries information about the outcome beyond its content ({statistic})."
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
    gain = f"BIC gain of two groups over one: {evidence.bic_gain:.1f}"
    if evidence.two_groups:
        reading = f"Two groups describe the bias score better than one ({gain})."
    elif evidence.bic_gain > TWO_GROUPS_GAIN:
        reading = (
            f"The cut of the bias score on validation rows leaves fewer than two rows on one side ({gain})."
        )
    else:
        reading = (
            f"One group describes the bias score as well as two ({gain}), so biased rows cannot be "
            "distinguished from unbiased ones."
        )
    return Finding(
        question="Does the bias score fall into two groups?",
        statistic=f"{gain} (validation rows)",
        reading=reading,
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
    statistic = f"{match.low:.4g} to {match.high:.4g}"
    if match.excludes_zero:
        reading = (
            f"The interval of alpha, {statistic}, excludes 0. It covers the error of matching, not that of "
            "the two stages."
        )
    elif math.isfinite(match.low):
        reading = (
            f"The interval of alpha, {statistic}, includes 0: the rows called biased report no more than "
            "their matches."
        )
    else:
        reading = f"Alpha is {match.alpha:.4g}, but its interval is unknown."
    return Finding(
        question="Is the matched difference above 0?",
        statistic=statistic,
        reading=reading,
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
    active, d_z = evidence.active_units, evidence.d_z
    return Finding(
        question="Do the proxies carry content?",
        statistic=f"{active} of {d_z} latents active",
        reading=(
            f"The proxies carry content: {active} of {d_z} latents are active."
            if active
            else f"None of the {d_z} content latents is active: the proxies show nothing beyond the "
            "environment, so rows cannot be matched on content."
        ),
        remedy="Nothing to do." if active else "Use proxies that measure what the outcome measures.",
        ok=active > 0,
        topic="content",
        value=float(active),
    )


def _training(evidence: Evidence) -> Finding:
    stages = dict(zip(("content", "bias"), evidence.best_epochs, strict=True))
    untrained = [stage for stage, epoch in stages.items() if epoch <= UNTRAINED_EPOCH]
    content, bias = evidence.stopped
    return Finding(
        question="Did both stages learn?",
        statistic=f"content: {content}; bias: {bias}",
        reading=(
            f"On held-out rows the {' and the '.join(untrained)} stage was at its best after epoch "
            f"{UNTRAINED_EPOCH}: it learned nothing further."
            if untrained
            else f"Both stages improved on held-out rows; the best epochs are {stages['content']} (content) "
            f"and {stages['bias']} (bias)."
        ),
        remedy="Lower learning_rate or width, or add rows." if untrained else "Nothing to do.",
        ok=not untrained,
        topic="training",
        value=float(min(evidence.best_epochs)),
    )


def _search(evidence: Evidence) -> list[Finding]:
    """Whether matches were found; said only where the rows were too many for an exact search."""
    if evidence.recall == 1.0:
        return []
    ok = evidence.recall >= ENOUGH_RECALL
    return [
        Finding(
            question="Did the search find the nearest rows?",
            statistic=f"{evidence.recall:.1%} of the exact matches of a sample of rows",
            reading=(
                f"The approximate search for matches found {evidence.recall:.1%} of the nearest rows"
                + (
                    "."
                    if ok
                    else f", less than {ENOUGH_RECALL:.0%}: alpha is less certain than its interval says."
                )
            ),
            remedy="Nothing to do." if ok else "Lower d_z: up to 6 latents are searched exactly.",
            ok=ok,
            topic="search",
            value=evidence.recall,
        )
    ]
