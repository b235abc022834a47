"""From a comparison and its answers to the evidence: every number that verdict and findings read."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.engine.inference import covariance_of, sizes
from proxycal.engine.likelihood import evaluated, scores
from proxycal.engine.search import family_of
from proxycal.methods.checks.instruments import any_moved, moved_proxies
from proxycal.methods.checks.outcome import content_gap
from proxycal.methods.checks.wald import wald_p
from proxycal.methods.one_model.coefficients import size_lines, who_lines
from proxycal.methods.one_model.compare import spaced
from proxycal.methods.one_model.detectable import detectable
from proxycal.methods.one_model.evidence import Evidence
from proxycal.methods.one_model.law import Law
from proxycal.methods.one_model.measures import (
    autocorrelation,
    block_z,
    overlap_of,
    proxies_p,
    relevance_of,
    size_cv,
)
from proxycal.methods.one_model.thresholds import RULES
from proxycal.methods.one_model.wording import law_in_words, model_in_words
from proxycal.methods.parts import outcome_of
from proxycal.mixture.thresholds import THRESHOLDS

if TYPE_CHECKING:
    from proxycal.effect.coefficients import Coefficients
    from proxycal.engine.inference import Sizes
    from proxycal.engine.search import Comparison
    from proxycal.methods.moments.estimate import MomentsFit
    from proxycal.methods.one_model.compare import Compared
    from proxycal.methods.one_model.law import RowAnswers
    from proxycal.result import Estimate
    from proxycal.settings import Settings

# Rows that are enough for the checks of neighbours, proxies, and of what may hide a bias.
CHECKED_ROWS = 20_000


def unfitted_evidence(compared: Compared, estimates: tuple[Estimate, ...], moments: MomentsFit) -> Evidence:
    """Where no model could be fitted."""
    arrays = compared.arrays
    return Evidence(
        lead=math.nan,
        separation=math.nan,
        share=math.nan,
        alone=math.nan,
        relevance=relevance_of(outcome_of(arrays), arrays.P, arrays.E, arrays.weights),
        overlap=math.nan,
        exact=estimates[0],
        moments=estimates[1],
        match=estimates[2],
        n=arrays.n,
        chosen_on=compared.chosen_on,
        first_stage_f=moments.first_stage_f_robust,
        two_valued_p=moments.two_valued_p,
        kind=compared.outcome.kind.kind,
        columns=arrays.E.shape[1],
    )


@dataclass(frozen=True, slots=True)
class Answered:
    """The model with a bias as rows are answered with it.

    rows : what it says of the rows that it was fitted to. found : the bias in all, engine's units. who :
    who is biased by encoded column.
    """

    law: Law
    rows: RowAnswers
    found: Sizes
    who: Coefficients


def answer_rows(compared: Compared, comparison: Comparison) -> Answered:
    """What the best model with a bias says of the fitted rows."""
    fit = comparison.biased.awake()
    sample = compared.sample(fit)
    found = sizes(fit, sample, compared.clusters)
    covariance = covariance_of(fit, sample, compared.clusters)
    return answered_by(Law.of(fit, covariance, compared.standard), found, compared)


def answered_by(law: Law, found: Sizes, compared: Compared) -> Answered:
    """What a law says of some rows."""
    answers = law.answers(compared.arrays, compared.outcome)
    return Answered(law, answers, found, who_lines(law, compared.arrays))


def collect(
    compared: Compared,
    comparison: Comparison,
    answered: Answered,
    estimates: tuple[Estimate, ...],
    moments: MomentsFit,
    settings: Settings,
) -> Evidence:
    """The evidence of one fit; estimates are exact, moments, match, ..."""
    arrays, biased = compared.arrays, comparison.biased
    answers, found, who = answered.rows, answered.found, answered.who
    mass = arrays.weights * answers.p_biased
    y = compared.sign * outcome_of(arrays)
    leads = comparison.lead >= RULES.lead
    evidence = unfitted_evidence(compared, estimates, moments)
    evidence = replace(
        evidence,
        lead=comparison.lead,
        price=(biased.loglik - comparison.without.loglik) - (biased.evidence - comparison.without.evidence),
        alike=math.nan
        if comparison.alike is None
        else comparison.alike.evidence - comparison.without.evidence,
        separation=found.separation,
        share=found.share,
        alone=found.alone,
        # A bias that does not lead is left in: its p_biased goes with the proxies by chance.
        relevance=relevance_of(
            y - answers.p_biased * answers.size if leads else y, arrays.P, arrays.E, arrays.weights
        ),
        overlap=overlap_of(answers.mu, answers.p_biased),
        gate_p=wald_p(who.estimate[1:], who.cov[1:, 1:], df=len(who.estimate) - 1),
        constancy_p=_constancy(answered.law, compared, answers.p_biased, settings.effect),
        cv=size_cv(answers.size, answers.spread, mass),
        with_bias=model_in_words(family_of(biased)),
        without=model_in_words(family_of(comparison.without)),
        law=law_in_words(biased),
        effect=settings.effect,
        stand_for=float(arrays.weights.sum()),
    )
    evidence = _of_rows(evidence, compared, comparison, answers)
    return evidence if leads else _of_what_hides(evidence, compared, comparison, settings.random_state)


def _constancy(law: Law, compared: Compared, p_biased: np.ndarray, effect: str) -> float:
    """The p-value of "one size for all"; NaN where no size that varies was asked for."""
    if effect == "constant":
        return math.nan
    line = size_lines(law, compared.arrays, p_biased, effect)
    count = len(line.estimate)
    if effect == "linear":
        return wald_p(line.estimate[1:], line.cov[1:, 1:], df=count - 1)
    contrast = np.eye(count)[1:] - np.eye(count)[:1]
    return wald_p(contrast @ line.estimate, contrast @ line.cov @ contrast.T, df=count - 1)


def _of_rows(evidence: Evidence, compared: Compared, comparison: Comparison, answers: RowAnswers) -> Evidence:
    """With what neighbouring rows and the proxies say of who is biased."""
    few = spaced(compared.arrays.n, CHECKED_ROWS)
    part = compared.take(few)
    y = compared.sign * outcome_of(part.arrays)
    mass = compared.arrays.weights * answers.p_biased
    size = float(np.average(answers.size, weights=mass + 1e-300))
    residual = y - answers.mu[few] - answers.prior[few] * size
    logs = [
        evaluated(fit.model, part.sample(fit), fit.theta, fit.model.family.log_density)
        for fit in (comparison.biased, comparison.without)
    ]
    fit = comparison.biased.awake()
    left = answers.p_biased[few] - answers.prior[few]
    return replace(
        evidence,
        sampled=0 if len(few) == compared.arrays.n else len(few),
        autocorrelation=autocorrelation(residual, y),
        block_z=block_z(logs[0] - logs[1], evidence.price, part.arrays.cluster),
        proxies_p=proxies_p(left, part.arrays.P, scores(fit.model, part.sample(fit), fit.theta))
        if evidence.leads
        else 1.0,
    )


def _of_what_hides(evidence: Evidence, compared: Compared, comparison: Comparison, seed: int) -> Evidence:
    """With what could hide a bias: a proxy that contains it, groups without common content, few rows."""
    seen = compared.take(spaced(compared.arrays.n, CHECKED_ROWS))
    part, without = seen.arrays, comparison.without
    moved_p = any_moved(moved_proxies(part.P, part.E, part.weights, part.cluster))
    content = evaluated(
        without.model,
        seen.sample(without),
        without.theta,
        lambda _, eta: family_of(without).unbiased_mean(eta),
    )
    gap, told = content_gap(content, part.E, part.weights)
    evidence = replace(evidence, moved_p=moved_p, gap=gap if told >= THRESHOLDS.told else 0.0)
    if evidence.hint or math.isnan(evidence.lead):
        return evidence
    size, noise = detectable(compared, without, seed)
    return replace(evidence, detectable=size, detectable_size=size * noise * compared.standard.unit)
