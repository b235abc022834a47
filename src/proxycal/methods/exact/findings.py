"""The evidence of an exact fit in words: one question, one statistic, a reading and a remedy each."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from proxycal.methods.crosschecks import agreement, first_stage
from proxycal.methods.exact.evidence import (
    hides_bias,
    reasons_for_doubt,
    verdict,
)
from proxycal.mixture.thresholds import THRESHOLDS
from proxycal.result import Finding

if TYPE_CHECKING:
    from proxycal.methods.exact.evidence import Evidence

# Questions that only a claimed bias raises.
ABOUT_A_BIAS = (
    "separation",
    "gate",
    "overlap",
    "share",
    "direction",
    "agreement with moments",
    "agreement with matching",
    "first-stage",
)


def findings(evidence: Evidence) -> tuple[Finding, ...]:
    """The reasons for the verdict first, then the cross-checks and what was chosen on the way."""
    doubt = reasons_for_doubt(evidence)
    made = (
        _race(evidence),
        _separation(evidence, "separation" in doubt),
        _gate(evidence),
        _relevant(evidence),
        _overlaps(evidence),
        _share(evidence),
        *_direction(evidence),
        agreement(evidence.exact, evidence.moments, "agreement with moments"),
        agreement(evidence.exact, evidence.match, "agreement with matching"),
        first_stage(evidence.first_stage_f),
        _convergence(evidence),
        _varies(evidence),
        _content(evidence),
    )
    return tuple(unclaimed(one) for one in made) if verdict(evidence) == "no bias found" else made


def unclaimed(one: Finding) -> Finding:
    """The finding where no bias is claimed: what is wrong with one that nobody claims asks for nothing."""
    if one.ok or one.topic not in ABOUT_A_BIAS:
        return one
    return replace(one, reading="It says nothing here: no bias is claimed.", remedy="Nothing to do.", ok=True)


def _race(e: Evidence) -> Finding:
    if e.leads:
        reading = (
            "A shift that the environment drives explains the outcome better than any model without a bias."
        )
        remedy = "Nothing to do."
    elif e.humps_apart:
        reading = (
            "What content leaves of the outcome has two humps, but the environment does not say who is on "
            "which: that may be a bias or just the shape of the outcome."
        )
        remedy = "Add environment columns that drive who misreports, or validate some rows (role truth)."
    elif e.hint:
        reading = "There is a hint of a shift, not enough to call it one."
        remedy = "More rows, better proxies, or a few validated rows (role truth) would decide."
    elif hides_bias(e) == "exclusion":
        reading = (
            "Models without a bias explain the outcome as well, but the environment moves a proxy other than "
            f"through content (p = {e.moved_p:.2g}): a proxy that carries the bias would hide it."
        )
        remedy = "`proxycal check` names the suspicious proxy; leave it out and fit again."
    elif hides_bias(e) == "gap":
        reading = (
            "Models without a bias explain the outcome as well, but content falls into two groups that the "
            f"environment tells apart ({e.gap:.1f} sds): a bias of one of them would look like its content."
        )
        remedy = "Fit each group alone, or add rows with content in between."
    elif hides_bias(e) == "direct":
        reading = (
            "Models without a bias explain the outcome as well, but the environment moves it beyond content "
            f"(p = {e.direct_p:.2g}): by an effect of its own, or by a bias that these rows cannot show."
        )
        remedy = "Validate some rows (role truth), or find proxies that see more of the content."
    else:
        reading = "Models without a bias explain the outcome as well."
        remedy = "Nothing to do; `proxycal power` says what size of bias this table could show."
    return Finding(
        question="Does a reporting bias explain the outcome better than anything else?",
        statistic=f"BIC gain {e.gain:.1f} ({e.shape}, with bias, against {e.null_shape}, without)",
        reading=reading,
        remedy=remedy,
        ok=e.leads or verdict(e) == "no bias found",
        topic="race",
        value=e.gain,
    )


def _separation(e: Evidence, doubtful: bool) -> Finding:
    apart_enough = e.separation >= THRESHOLDS.apart
    return Finding(
        question="Is the bias large beside the noise?",
        statistic=f"alpha is {e.separation:.2f} residual standard deviations",
        reading=(
            "Biased and unbiased rows stand apart."
            if apart_enough
            else "Biased and unbiased rows overlap: their average is known better than who is who."
        ),
        remedy=(
            "Nothing to do."
            if apart_enough
            else "Proxies that explain more of the outcome would separate them."
        ),
        ok=not doubtful,
        topic="separation",
        value=e.separation,
    )


def _gate(e: Evidence) -> Finding:
    ok = e.gate_p < THRESHOLDS.gate_p
    return Finding(
        question="Does the environment drive who is biased?",
        statistic=f"Wald test of the gate, p = {e.gate_p:.2g}",
        reading="It does."
        if ok
        else "It hardly does: who is biased rests on the shape of the outcome alone.",
        remedy="Nothing to do." if ok else "Add environment columns that drive who misreports.",
        ok=ok,
        topic="gate",
        value=e.gate_p,
    )


def _relevant(e: Evidence) -> Finding:
    ok = e.relevance >= THRESHOLDS.relevance
    return Finding(
        question="Do the proxies see the outcome?",
        statistic=f"they explain {e.relevance:.1%} of what the environment leaves of it",
        reading="They do." if ok else "They do not: content and bias cannot be told apart.",
        remedy="Nothing to do." if ok else "Use proxies that measure the same reality as the outcome.",
        ok=ok,
        topic="relevance",
        value=e.relevance,
    )


def _overlaps(e: Evidence) -> Finding:
    known = math.isfinite(e.overlap)
    ok = not known or e.overlap >= THRESHOLDS.overlap
    return Finding(
        question="Are there unbiased rows like the biased ones?",
        statistic=f"{e.overlap:.0%} of the biased lie among the unbiased in content"
        if known
        else "one group only",
        reading=(
            "The two groups overlap in content."
            if ok
            else "They hardly overlap: what the biased would have reported is extrapolated."
        ),
        remedy="Nothing to do."
        if ok
        else "Restrict the table to contents where both kinds of reporter occur.",
        ok=ok,
        topic="overlap",
        value=e.overlap if known else None,
    )


def _share(e: Evidence) -> Finding:
    ok = e.share <= THRESHOLDS.nearly_all
    return Finding(
        question="Are enough rows unbiased to compare with?",
        statistic=f"{e.share:.0%} of the rows are biased",
        reading="They are."
        if ok
        else "Nearly all rows are called biased: the few others may as well be outliers of honest reports.",
        remedy="Nothing to do."
        if ok
        else "Validate some rows (role truth), or look at the other rows by eye.",
        ok=ok,
        topic="share",
        value=e.share,
    )


def _direction(e: Evidence) -> list[Finding]:
    """Said only where a size that varies runs, on the whole, against the stated direction."""
    if not e.exact.alpha <= 0.0:
        return []
    return [
        Finding(
            question="Does the bias run in the stated direction?",
            statistic=f"mean over the biased: {e.exact.low:.4g} to {e.exact.high:.4g}",
            reading="It does not: on the whole the biased report to the other side.",
            remedy="Look at the sizes by level in summary(), and fit with the other direction.",
            ok=False,
            topic="direction",
            value=e.exact.low,
        )
    ]


def _convergence(e: Evidence) -> Finding:
    return Finding(
        question="Did the fit converge?",
        statistic=f"log likelihood left to gain: {e.decrement:.1g}",
        reading="Both sides of the race did."
        if e.converged
        else "It did not: the numbers are those of an unfinished fit.",
        remedy="Nothing to do." if e.converged else "Drop collinear or nearly constant columns, and refit.",
        ok=e.converged,
        topic="convergence",
        value=e.decrement,
    )


def _varies(e: Evidence) -> Finding:
    if e.effect != "constant":
        differs = e.constancy_p < THRESHOLDS.constancy_p
        reading = f"The size of the bias {'differs' if differs else 'may well be the same'} ({e.effect})."
        statistic = f"Wald test of one size for all, p = {e.constancy_p:.2g}"
    elif math.isfinite(e.by_level_gain):
        reading = "One size serves all levels of the categorical environment columns."
        statistic = f"BIC gain of a size by level: {e.by_level_gain:.1f}"
    else:
        reading, statistic = (
            "One size was asked for, and no categorical column suggests another.",
            "not tested",
        )
    return Finding(
        question="Is the bias of one size?",
        statistic=statistic,
        reading=reading,
        remedy="Nothing to do; the outcome is calibrated accordingly.",
        ok=True,
        topic="constancy",
        value=e.constancy_p if math.isfinite(e.constancy_p) else None,
    )


def _content(e: Evidence) -> Finding:
    where = (
        "all rows"
        if e.n_compared >= e.n
        else f"a sample of {e.n_compared} of {e.n} rows, the final fit on all of them"
    )
    if e.sampled:
        where += f"; matching, moments and checks saw a sample of {e.sampled}"
    return Finding(
        question="How did content enter?",
        statistic=f"features: {e.features}; shape of the outcome: {e.shape}",
        reading=f"Features and shape were chosen by BIC on {where}.",
        remedy="Nothing to do.",
        ok=True,
        topic="content",
    )
