"""The evidence of an exact fit in words: one question, one statistic, a reading and a remedy each."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from proxycal.methods.crosschecks import agreement, beside_matching, first_stage
from proxycal.methods.exact.evidence import SIZES_VARY, hides_bias, reasons_for_doubt, verdict
from proxycal.methods.exact.guards import guard_findings
from proxycal.methods.exact.truths import truths_findings
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
    "first-stage",
    "rare",
    "narrow",
    "gate-alone",
    "sign",
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
        *_direction(evidence),
        *guard_findings(evidence, doubt),
        agreement(evidence.exact, evidence.moments, "agreement with moments"),
        beside_matching(evidence.exact, evidence.match),
        first_stage(evidence.first_stage_f),
        _convergence(evidence),
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
    gain = f"BIC gain {e.gain:.1f}"
    if math.isnan(e.gain):
        reading = "Models with and without a bias could not be compared, so nothing can be said about a bias."
        remedy = "Drop collinear or nearly constant columns, and refit."
    elif e.leads:
        bias = "reporting bias of whole clusters" if e.whole_clusters else "reporting bias"
        reading = (
            f"A {bias} that the environment drives explains the outcome better than any model without a bias."
        )
        remedy = NOTHING
    elif e.humps_apart:
        reading = (
            "What content leaves of the outcome has two modes, but the environment does not predict which "
            "rows belong to which: that may be a bias or just the shape of the outcome."
        )
        remedy = "Add environment columns that drive who misreports, or validate some rows (role truth)."
    elif e.hint:
        reading = "There is a hint of a bias, not enough to claim one."
        remedy = "More rows, better proxies, or 30 validated rows (role truth) would decide."
    else:
        but, remedy = _hidden(e)[hides_bias(e)]
        reading = f"A model without a bias explains the outcome as well{but}"
    return Finding(
        question="Does a reporting bias explain the outcome better than anything else?",
        statistic=f"{gain} ({e.shape}, with bias, against {e.null_shape}, without)",
        reading=reading,
        remedy=remedy,
        ok=e.leads or verdict(e) == "no bias found",
        topic="comparison",
        value=e.gain,
    )


def _hidden(e: Evidence) -> dict[str, tuple[str, str]]:
    """By the topic of what may hide a bias: how the sentence on a model without one goes on, and a remedy."""
    moves = "bends its mean" if e.bent else f"moves it beyond content ({_p(e.direct_p)})"
    return {
        "": (
            f". {found_at(e)}".rstrip(),
            "Nothing to do; `power()` measures that size by injecting known biases.",
        ),
        "truths": (
            ", but validated rows are reported wrongly on average.",
            "Validate more rows (role truth): from 30 on the calibration is learned from them.",
        ),
        "columns": (
            f", but {e.n} rows are too few to find any bias with {e.columns} environment columns.",
            "Keep the environment columns that are known to matter for who reports what, and fit again.",
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
        "direct": (
            f", but the environment {moves}: by an effect of its own, or by a bias that these rows cannot "
            "show.",
            "Validate some rows (role truth), or find proxies that measure the content more closely.",
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
        "tail": (
            f", but more rows lie far on the biased side than it expects ({_p(e.tail_p)}): a bias of a few "
            "rows cannot be ruled out.",
            "Inspect the most extreme rows, or validate them (role truth).",
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
    ok = e.share <= THRESHOLDS.nearly_all
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


def _direction(e: Evidence) -> list[Finding]:
    """Said only where a size that varies runs, on the whole, against the stated direction."""
    if not e.exact.alpha <= 0.0:
        return []
    interval = f"{e.exact.low:.4g} to {e.exact.high:.4g}"
    return [
        Finding(
            question="Does the bias run in the stated direction?",
            statistic=f"mean over the biased rows: {interval}",
            reading=(
                "On the whole the biased rows deviate against the stated direction (mean over the biased "
                f"rows {interval})."
            ),
            remedy="Look at the sizes by level, and fit with the other direction.",
            ok=False,
            topic="direction",
            value=e.exact.low,
        )
    ]


def _convergence(e: Evidence) -> Finding:
    left = f"log likelihood left to gain: {e.decrement:.1g}"
    if not e.converged:
        reading = f"The fit did not converge ({left}): the numbers are those of an unfinished fit."
    elif e.decrement < THRESHOLDS.decrement:
        reading = f"The fit converged: less than {THRESHOLDS.decrement:g} of log likelihood is left to gain."
    else:
        reading = "The best model without a bias converged; the best with one was too poor to be refined."
    return Finding(
        question="Did the fit converge?",
        statistic=left,
        reading=reading,
        remedy=NOTHING if e.converged else "Drop collinear or nearly constant columns, and refit.",
        ok=e.converged,
        topic="convergence",
        value=e.decrement,
    )


def _constancy(e: Evidence) -> Finding:
    if e.law:
        statistic = f"coefficient of variation of the sizes: {e.cv:.2f}"
        varies = f"Biased rows differ in the size of their bias ({statistic}); the size is their mean."
        reading = varies if e.cv > SIZES_VARY else "All biased rows have a bias of the same size."
        reading += f" In the best model {e.law}."
    elif e.effect != "constant":
        differs = e.constancy_p < THRESHOLDS.constancy_p
        size = "differs" if differs else "may well be the same for all rows"
        reading = f"The size of the bias {size} (effect '{e.effect}', {_p(e.constancy_p)})."
        statistic = f"Wald test of one size for all, p = {e.constancy_p:.2g}"
    elif math.isfinite(e.by_level_gain):
        statistic = f"BIC gain of a size by level: {e.by_level_gain:.1f}"
        reading = (
            f"The bias is of the same size at all levels of categorical environment columns ({statistic})."
        )
    else:
        statistic = "not tested"
        reading = "Not tested: no categorical environment column has few enough levels for a size by level."
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
        reading=f"Features ({e.features}) and shape ({e.shape}) were chosen by BIC on {where}.",
        remedy=NOTHING,
        ok=True,
        topic="content",
    )
