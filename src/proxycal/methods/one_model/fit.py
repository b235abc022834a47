"""The exact method, end to end: the comparison of the models, matching and moments beside it, a verdict.

(y, P, E) -> compare -> alpha, P(A=1)    who is biased -> effect/match    and methods/moments
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from proxycal.effect.likely import match_likely
from proxycal.effect.uncertainty import normal_interval
from proxycal.engine.average import averaged
from proxycal.engine.search import family_of
from proxycal.methods.crosschecks import attempt
from proxycal.methods.exact.clusters import MIN_CLUSTERS, cluster_means, means_of
from proxycal.methods.exact.outcome import told_by_environment
from proxycal.methods.exact.truths import read_truths
from proxycal.methods.moments.estimate import fit_moments, no_moments
from proxycal.methods.one_model.coefficients import size_lines
from proxycal.methods.one_model.collect import answer_rows, collect, unfitted_evidence
from proxycal.methods.one_model.compare import compare_models
from proxycal.methods.one_model.details import curve_of, gate_terms, kept_details, with_law
from proxycal.methods.one_model.evidence import verdict
from proxycal.methods.one_model.findings import findings
from proxycal.methods.one_model.record import OneModelFit
from proxycal.methods.one_model.refits import refitted_error
from proxycal.methods.one_model.thresholds import RULES
from proxycal.methods.parts import outcome_of
from proxycal.methods.repeated import written_out
from proxycal.result import Details, Estimate

if TYPE_CHECKING:
    from proxycal.effect.match import Controls
    from proxycal.engine.inference import Sizes
    from proxycal.engine.search import Comparison
    from proxycal.methods.moments.estimate import MomentsFit
    from proxycal.methods.one_model.collect import Answered
    from proxycal.methods.one_model.compare import Compared
    from proxycal.methods.one_model.evidence import Evidence
    from proxycal.methods.one_model.law import Law
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays

# Rows up to which counts are written out. With more, counts are weights to the checks of an answer: estimates
# are the same, and a verdict on the border may be another.
WRITTEN_OUT = 20_000


def fit_one_model(arrays: Arrays, settings: Settings) -> OneModelFit:
    """Compare the models, then put matching and moments beside the answer.

    Validated rows have no part in it: they judge the answer. A row that stands for several is that many rows.
    """
    written, origin = written_out(arrays, WRITTEN_OUT)
    fit = judged(_fit_reports(written, settings), written)
    if origin is None or fit.controls is None or fit.means is not None:
        return fit
    # Matched rows are shown as those of the table.
    return replace(fit, controls=replace(fit.controls, position=origin[fit.controls.position]))


def judged(fit: OneModelFit, arrays: Arrays) -> OneModelFit:
    """The fit after the validated rows among `arrays`, if there are any, have been heard."""
    seen = read_truths(fit, arrays)
    return fit if seen is None else with_evidence(fit, replace(fit.evidence, truths=seen))


def _fit_reports(arrays: Arrays, settings: Settings) -> OneModelFit:
    """Rows are compared; where they have clusters and show no bias of their own, whole clusters may."""
    by_row = finish(compare_models(arrays, settings), arrays, settings)
    if arrays.cluster is None or by_row.verdict == "bias found":
        return by_row
    means = cluster_means(arrays)[0]
    if means.n < MIN_CLUSTERS or not arrays.n > means.n or settings.effect != "constant":
        return by_row
    by_cluster = finish(compare_models(means, settings), means, settings)
    if by_cluster.verdict == "bias found":
        evidence = replace(by_cluster.evidence, whole_clusters=True)
        return with_evidence(replace(by_cluster, means=means_of(arrays)), evidence)
    if by_cluster.verdict == "not identified":
        return with_evidence(by_row, replace(by_row.evidence, clusters_unclear=True))
    return by_row


def with_evidence(fit: OneModelFit, evidence: Evidence) -> OneModelFit:
    """The fit with what its verdict and findings then are."""
    return replace(
        fit,
        evidence=evidence,
        verdict=verdict(evidence),
        findings=findings(evidence),
        details=with_law(fit.details, evidence),
    )


@dataclass(frozen=True, slots=True)
class Beside:
    """What other estimators say: the rows to match with, the matched estimate, and the moments."""

    controls: Controls | None
    match: Estimate
    moments: MomentsFit


def finish(
    compared: Compared, whole: Arrays, settings: Settings, answered: Answered | None = None
) -> OneModelFit:
    """The answer of a comparison with matching and moments of its rows beside it.

    whole : all rows, those on a spike too. answered : what the model says, where the rows stand for others.
    """
    arrays, level, comparison = compared.arrays, settings.level, compared.comparison
    if comparison is None:
        return _unfitted(compared, settings)
    answered = answer_rows(compared, comparison) if answered is None else answered
    law, answers, found = answered.law, answered.rows, answered.found
    exact = _estimate(compared, comparison, found, settings)
    others = _beside(arrays, settings, answers.p_biased, answers.mu)
    moments = others.moments
    estimates = (
        exact,
        Estimate("moments", moments.alpha, moments.se, moments.low, moments.high, moments.note),
        others.match,
        *_lines(law, compared, answers.p_biased, settings),
    )
    evidence = collect(compared, comparison, answered, estimates, moments, settings)
    spike_p, rounding_p = told_by_environment(whole, compared.outcome)
    evidence = replace(evidence, spike_p=spike_p, rounding_p=rounding_p)
    gap = compared.sign * outcome_of(arrays) - answers.mu
    details = kept_details(
        curve_of(law, arrays, gap, compared.sign),
        gate_terms(answered.who, arrays, level),
        family_of(comparison.biased).components,
    )
    return OneModelFit(
        sign=compared.sign,
        level=level,
        effect=settings.effect,
        law=law,
        controls=others.controls,
        estimate=exact,
        estimates=estimates,
        share_biased=evidence.share,
        evidence=evidence,
        verdict=verdict(evidence),
        findings=findings(evidence),
        details=with_law(details, evidence),
        outcome=compared.outcome,
        between=max(exact.se**2 - (found.se * law.unit) ** 2, 0.0) if math.isfinite(exact.se) else 0.0,
    )


def _estimate(compared: Compared, comparison: Comparison, found: Sizes, settings: Settings) -> Estimate:
    """The size in all: of a bias that leads, over the models that explain the table about as well."""
    unit, level, note = compared.standard.unit, settings.level, _note(settings.effect)
    if settings.interval == "bootstrap":
        error = refitted_error(compared, comparison, settings.random_state)
        return _normal("exact", found.alpha * unit, error * unit, level, note)
    leads = comparison.lead >= RULES.lead
    if compared.table is None or compared.clusters is not None or settings.effect != "constant" or not leads:
        return _normal("exact", found.alpha * unit, found.se * unit, level, note)
    mean = averaged(compared.table, comparison.biased, level)
    return Estimate("exact", mean.alpha * unit, mean.se * unit, mean.low * unit, mean.high * unit, note)


def _beside(arrays: Arrays, settings: Settings, p_biased: np.ndarray, mu: np.ndarray) -> Beside:
    """Neither has a part in the answer: where one cannot be computed, its row says why."""
    y, level = settings.sign * outcome_of(arrays), settings.level
    controls, match = attempt(
        lambda: match_likely(y, mu[:, None], p_biased, arrays.weights, arrays.cluster, level),
        lambda why: (None, Estimate.missing("match", why)),
    )
    moments = attempt(
        lambda: fit_moments(y, arrays.P, arrays.E, arrays.weights, arrays.cluster, level),
        partial(no_moments, arrays.P.shape[1], float(arrays.weights.sum())),
    )
    return Beside(controls, match, moments)


def _unfitted(compared: Compared, settings: Settings) -> OneModelFit:
    """The record where no model could be fitted: it answers nothing."""
    nobody = np.zeros(compared.arrays.n)
    mu = compared.sign * outcome_of(compared.arrays)
    others = _beside(compared.arrays, settings, nobody, mu)
    moments = others.moments
    estimates = (
        Estimate.missing("exact", "no model could be fitted"),
        Estimate("moments", moments.alpha, moments.se, moments.low, moments.high, moments.note),
        others.match,
    )
    evidence = unfitted_evidence(compared, estimates, moments)
    return OneModelFit(
        sign=compared.sign,
        level=settings.level,
        effect=settings.effect,
        law=None,
        controls=None,
        estimate=estimates[0],
        estimates=estimates,
        share_biased=math.nan,
        evidence=evidence,
        verdict=verdict(evidence),
        findings=findings(evidence),
        details=Details(),
        outcome=compared.outcome,
    )


def _note(effect: str) -> str:
    return "" if effect == "constant" else f"mean over the biased rows; {effect}"


def _lines(law: Law, compared: Compared, p_biased: np.ndarray, settings: Settings) -> list[Estimate]:
    """The size at each level, or how it changes with each environment column."""
    if settings.effect == "constant":
        return []
    found = size_lines(law, compared.arrays, p_biased, settings.effect)
    slope = "slope of " if settings.effect == "linear" else ""
    first = 1 if settings.effect == "linear" else 0
    errors = np.sqrt(np.maximum(np.diag(found.cov), 0.0))
    named = list(zip(found.terms, found.estimate, errors, strict=True))[first:]
    return [_normal(f"exact, {slope}{name}", float(a), float(se), settings.level) for name, a, se in named]


def _normal(name: str, alpha: float, se: float, level: float, note: str = "") -> Estimate:
    if not math.isfinite(se):
        return Estimate(name, alpha, math.nan, math.nan, math.nan, note)
    return Estimate(name, alpha, se, *normal_interval(alpha, se, level), note)
