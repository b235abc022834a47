"""The evidence of an exact fit in words: one question, one statistic, a reading and a remedy each."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from proxycal.methods.crosschecks import agreement, beside_matching, first_stage
from proxycal.methods.exact.truths import truths_findings
from proxycal.methods.one_model.evidence import SIZES_VARY, hides_bias, reasons_for_doubt, verdict
from proxycal.methods.one_model.guards import guard_findings
from proxycal.methods.one_model.thresholds import RULES
from proxycal.mixture.thresholds import THRESHOLDS
from proxycal.result import Finding

if TYPE_CHECKING:
    from proxycal.methods.one_model.evidence import Evidence

# Questions that only a claimed bias raises.
ABOUT_A_BIAS = (
    "separation",
    "gate",
    "overlap",
    "share",
    "agreement with moments",
    "first-stage",
    "rare",
    "gate-alone",
    "proxies",
    "vague",
)
NOTHING = "Nothing to do."


def findings(evidence: Evidence) -> tuple[Finding, ...]:
    """The reasons for the verdict first, then the cross-checks and what was chosen on the way."""
    doubt = reasons_for_doubt(evidence)
    all_of_them = (
        _comparison(evidence),
        _separation(evidence, "separation" in doubt),
        _gate(evidence),
        _relevance(evidence),
        _overlap(evidence),
        _share(evidence),
        *guard_findings(evidence, doubt),
        agreement(evidence.exact, evidence.moments, "agreement with moments"),
        beside_matching(evidence.exact, evidence.match),
        *otherwise(evidence),
        first_stage(evidence.first_stage_f),
        _constancy(evidence),
        _content(evidence),
        *truths_findings(evidence.truths, evidence.leads),
    )
    if verdict(evidence) != "no bias found":
        return all_of_them
    return tuple(unclaimed(finding) for finding in all_of_them)


def unclaimed(finding: Finding) -> Finding:
    """The finding where no bias is claimed: what is wrong with one that nobody claims asks for nothing."""
    if finding.ok or finding.topic not in ABOUT_A_BIAS:
        return finding
    return replace(finding, reading="Not applicable: no bias is claimed.", remedy=NOTHING, ok=True)


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.2g}"


def _comparison(e: Evidence) -> Finding:
    lead = f"evidence {e.lead:+.1f} (log odds; {RULES.lead:g} wanted)"
    if math.isnan(e.lead):
        reading = "Models with and without a bias could not be fitted, so nothing can be said about a bias."
        remedy = "Drop collinear or nearly constant columns, and refit."
    elif e.leads:
        bias = "reporting bias of whole clusters" if e.whole_clusters else "reporting bias"
        reading = (
            f"A {bias} that the environment drives explains the outcome better than any model without a bias "
            f"({lead})."
        )
        remedy = NOTHING
    elif e.humps:
        reading = (
            "What content leaves of the outcome has two modes, but the environment does not predict which "
            "rows belong to which: that may be a bias or just the shape of the outcome."
        )
        remedy = "Add environment columns that drive who misreports, or validate some rows (role truth)."
    elif e.hint:
        reading = f"There is a hint of a bias, not enough to claim one ({lead})."
        remedy = "More rows, better proxies, or 30 validated rows (role truth) would decide."
    else:
        but, remedy = _hidden(e)[hides_bias(e)]
        reading = f"A model without a bias explains the outcome as well{but}"
    return Finding(
        question="Does a reporting bias explain the outcome better than anything else?",
        statistic=f"{lead}: {e.with_bias}, against {e.without} without a bias",
        reading=reading,
        remedy=remedy,
        ok=e.leads or verdict(e) == "no bias found",
        topic="comparison",
        value=e.lead,
    )


def _hidden(e: Evidence) -> dict[str, tuple[str, str]]:
    """By the topic of what may hide a bias: how the sentence on a model without one goes on, and a remedy."""
    return {
        "": (
            f". {found_at(e)}".rstrip(),
            "Nothing to do; `power()` measures that size by injecting known biases.",
        ),
        "truths": (
            ", but validated rows are reported wrongly on average.",
            "Validate more rows (role truth): from 30 on the calibration is learned from them.",
        ),
        "dependence": (
            ", but neighbouring rows depend on each other, so the table holds less information than its "
            "number of rows suggests.",
            "Name the column of what neighbouring rows share (role cluster), and fit again.",
        ),
        "clusters": (
            " row by row, but whole clusters may be biased: their means leave it open.",
            "Validate some rows (role truth) of several clusters, or add environment columns of clusters.",
        ),
        "power": (
            f", but only a bias of {_size(e)} would have been found in nine tables of ten like this one.",
            "Add rows or better proxies; `power()` shows what size of bias would be found.",
        ),
        "exclusion": (
            f", but the environment moves a proxy other than through content ({_p(e.moved_p)}): a proxy that "
            "contains the bias would hide it.",
            "`refute('drop-proxy')` shows without which proxy the result changes; leave out a proxy that may "
            "have seen the report.",
        ),
        "gap": (
            f", but content falls into two groups that the environment separates ({e.gap:.1f} standard "
            "deviations apart): a bias of one of them would look like its content.",
            "Fit each group alone, or add rows with content in between.",
        ),
        "rounding": (
            f", but the environment predicts who reports round numbers ({_p(e.rounding_p)}).",
            "Ask for unrounded numbers, or validate some rows (role truth).",
        ),
        "spike": (
            " away from the spike, but the environment predicts who is on it, beyond the proxies "
            f"({_p(e.spike_p)}): some may not report at all.",
            "Ask for the missing reports, or validate some rows (role truth).",
        ),
    }


def _size(e: Evidence) -> str:
    if not math.isfinite(e.detectable):
        return "more than 5 residual standard deviations"
    return f"{e.detectable_size:.3g} ({e.detectable:.1f} residual standard deviations)"


def found_at(e: Evidence) -> str:
    """What size of bias would have been found."""
    if math.isnan(e.detectable):
        return ""
    return (
        f"A bias of {_size(e)} in half of the rows would have been found in nine tables of ten like this one."
    )


def _separation(e: Evidence, doubtful: bool) -> Finding:
    apart_enough = e.separation >= THRESHOLDS.apart
    size = f"alpha is {e.separation:.2f} residual standard deviations"
    if apart_enough:
        reading = f"Biased and unbiased rows are well separated: {size}."
    elif doubtful:
        reading = (
            f"Biased and unbiased rows overlap ({size}), and the environment alone does not show two kinds "
            "of rows: what looks like a bias may be the shape of the noise."
        )
    else:
        reading = (
            f"Biased and unbiased rows overlap ({size}): the size of the bias is known better than who is "
            "biased."
        )
    return Finding(
        question="Is the bias large beside the noise?",
        statistic=size,
        reading=reading,
        remedy=NOTHING if apart_enough else "Proxies that explain more of the outcome would separate them.",
        ok=not doubtful,
        topic="separation",
        value=e.separation,
    )


def _gate(e: Evidence) -> Finding:
    ok = e.gate_p < THRESHOLDS.gate_p
    return Finding(
        question="Does the environment drive who is biased?",
        statistic=f"Wald test of the environment in who is biased, p = {e.gate_p:.2g}",
        reading=(
            f"The environment predicts who is biased ({_p(e.gate_p)})."
            if ok
            else f"The environment hardly predicts who is biased ({_p(e.gate_p)}): that rests on the shape "
            "of the outcome alone."
        ),
        remedy=NOTHING if ok else "Add environment columns that drive who misreports.",
        ok=ok,
        topic="gate",
        value=e.gate_p,
    )


def _relevance(e: Evidence) -> Finding:
    ok = e.relevance >= THRESHOLDS.relevance
    explained = f"{e.relevance:.1%} of what the environment leaves of the outcome"
    return Finding(
        question="Do the proxies explain the outcome?",
        statistic=f"they explain {explained}",
        reading=(
            f"The proxies explain {explained}."
            if ok
            else f"The proxies explain only {explained}: content and bias cannot be distinguished."
        ),
        remedy=NOTHING if ok else "Use proxies that measure the same content as the outcome.",
        ok=ok,
        topic="relevance",
        value=e.relevance,
    )


def _overlap(e: Evidence) -> Finding:
    known = math.isfinite(e.overlap)
    ok = not known or e.overlap >= THRESHOLDS.overlap
    inside = f"{e.overlap:.0%} of the biased rows have content within that of the unbiased rows"
    if not known:
        reading = "Not applicable: all rows are biased, or none, so there are no two groups to compare."
    elif ok:
        reading = f"Biased and unbiased rows overlap in content: {inside}."
    else:
        reading = f"Only {inside}: what the others would have reported is extrapolated."
    return Finding(
        question="Are there unbiased rows like the biased ones?",
        statistic=inside if known else "one group only",
        reading=reading,
        remedy=NOTHING if ok else "Restrict the table to contents where both kinds of reporter occur.",
        ok=ok,
        topic="overlap",
        value=e.overlap if known else None,
    )


def _share(e: Evidence) -> Finding:
    ok = e.share <= RULES.most_share
    return Finding(
        question="Are enough rows unbiased to compare with?",
        statistic=f"{e.share:.0%} of the rows are biased",
        reading=(
            f"Enough rows are unbiased to compare with: {1.0 - e.share:.0%} of them."
            if ok
            else f"Nearly all rows are called biased ({e.share:.0%}): the few others may equally be "
            "outliers among unbiased reports."
        ),
        remedy=NOTHING if ok else "Validate some rows (role truth), or inspect the other rows.",
        ok=ok,
        topic="share",
        value=e.share,
    )


def _constancy(e: Evidence) -> Finding:
    if e.effect != "constant":
        differs = e.constancy_p < THRESHOLDS.constancy_p
        size = "differs" if differs else "may well be the same for all rows"
        reading = f"The size of the bias {size} (effect '{e.effect}', {_p(e.constancy_p)})."
        statistic = f"Wald test of one size for all, p = {e.constancy_p:.2g}"
    else:
        statistic = f"coefficient of variation of the sizes: {e.cv:.2f}"
        varies = f"Biased rows differ in the size of their bias ({statistic}); the size is their mean."
        reading = varies if e.cv > SIZES_VARY else "All biased rows have a bias of the same size."
        if e.law:
            reading += f" In the best model {e.law}."
    return Finding(
        question="Is the bias of one size?",
        statistic=statistic,
        reading=reading,
        remedy="Nothing to do; the outcome is calibrated accordingly.",
        ok=True,
        topic="constancy",
        value=e.constancy_p if math.isfinite(e.constancy_p) else None,
    )


def otherwise(e: Evidence) -> tuple[Finding, ...]:
    """What else would do the same as a bias that leads: said of every claim, with the numbers of the fit."""
    if not e.leads:
        return ()
    size = f"{e.exact.alpha:.3g}"
    return (
        Finding(
            question="What else would look the same?",
            statistic=f"a cause in {e.share:.0%} of the rows that moves the outcome by {size}",
            reading=(
                "An unmeasured cause of the true outcome would look the same if it was present in "
                f"{e.share:.0%} of the rows, in those that are called biased, moved the outcome by {size}, "
                f"and left no trace in the proxies. The environment would have to decide {e.alone:.0%} of "
                "who has it."
            ),
            remedy="Is such a cause known? A proxy that shows it, or validated rows, would decide.",
            ok=True,
            topic="otherwise",
            value=e.share,
        ),
    )


def _content(e: Evidence) -> Finding:
    where = (
        "all rows" if e.chosen_on >= e.n else f"{e.chosen_on:,} of {e.n:,} rows, and fitted to all of them"
    )
    if e.sampled:
        where += f"; checks saw {e.sampled:,} rows"
    return Finding(
        question="How did content enter?",
        statistic=f"proxies and environment by lines, curves, levels and products; {e.without}",
        reading=(
            "Content follows the proxies and the environment by lines, curves, levels and products, as far "
            f"as the data use them ({e.without}); the models were chosen on {where}."
        ),
        remedy=NOTHING,
        ok=True,
        topic="content",
    )
