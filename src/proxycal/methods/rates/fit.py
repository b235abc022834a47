"""Counts and yes/no outcomes: content, the comparison under either assumption, the claim, and the answer."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtrc, expit, ndtri

from proxycal.engine.content import fit_content
from proxycal.engine.covariates import Covariates
from proxycal.engine.families.binary import Binary
from proxycal.engine.families.counts import Counts
from proxycal.methods.rates.answer import Fitted, anchored
from proxycal.methods.rates.claims import Evidence, Found
from proxycal.methods.rates.climb import Table, as_it_is
from proxycal.methods.rates.inference import Independent, joint_covariance
from proxycal.methods.rates.kinds import kind_of
from proxycal.methods.rates.record import RatesFit
from proxycal.methods.rates.terms import Shape, Terms
from proxycal.methods.rates.wording import claim, findings, law
from proxycal.result import Estimate

if TYPE_CHECKING:
    from proxycal.engine.content import Content
    from proxycal.engine.maximise import Maximum
    from proxycal.methods.rates.climb import Comparison
    from proxycal.methods.rates.kinds import Kind
    from proxycal.methods.rates.record import Name
    from proxycal.scale.fit import EncodedPieces
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays


def fit_counts(arrays: Arrays, settings: Settings) -> RatesFit:
    """Fit counts."""
    return fit_rates("counts", arrays, settings)


def fit_binary(arrays: Arrays, settings: Settings) -> RatesFit:
    """Fit a yes/no outcome."""
    return fit_rates("binary", arrays, settings)


def fit_counts_in_pieces(table: EncodedPieces, settings: Settings) -> RatesFit:
    """Fit counts of a table that is read in pieces: a sample of its rows says what there is to know."""
    return fit_counts(sampled(table.sample), settings)


def fit_binary_in_pieces(table: EncodedPieces, settings: Settings) -> RatesFit:
    """Fit a yes/no outcome of a table that is read in pieces."""
    return fit_binary(sampled(table.sample), settings)


def sampled(sample: Arrays) -> Arrays:
    """Sampled rows as so many rows and no more, though they stand for others."""
    return replace(sample, weights=sample.weights / sample.weights.mean(), counts=None)


@dataclass(frozen=True, slots=True)
class Answered:
    """A model with a report as rows are answered with it, and the report in numbers."""

    fitted: Fitted
    found: Found
    estimate: Estimate
    share_biased: float


def fit_rates(name: Name, arrays: Arrays, settings: Settings) -> RatesFit:
    """The whole fit."""
    kind = kind_of(name, settings.sign)
    bare, w = Covariates.of(arrays), arrays.weights
    content = fit_content(bare, w)
    rows = bare.with_content(content.score(bare))
    table = Table(rows, kind.outcome(arrays), w, Terms.learn(rows))
    independent = Independent(arrays.cluster, arrays.counts)
    free, strict = kind.compare(table, direct=True), kind.compare(table, direct=False)
    if free is None or strict is None:
        return _unfitted(name, settings)
    answered = {
        stated: answer(name, kind, table, content, comparison, independent, arrays, settings.level)
        for stated, comparison in ((False, free), (True, strict))
    }
    evidence = Evidence(
        lead=free.lead,
        lead_through_content=strict.lead,
        against_content=free.without.evidence - strict.biased.evidence,
        direct_lead=free.without.evidence - strict.without.evidence,
        beyond_p=beyond_content(table, content, strict, independent),
        proxy_p=content.p_beyond,
        stated=settings.exclusion,
        free=answered[False].found,
        through_content=answered[True].found,
    )
    through_content = evidence.second or (settings.exclusion and not evidence.first)
    chosen = answered[through_content]
    events = float(w @ (arrays.y if arrays.y is not None else w))
    return RatesFit(
        name=name,
        sign=settings.sign,
        level=settings.level,
        verdict=evidence.verdict,
        findings=findings(name, settings.sign, evidence, chosen.found, chosen.estimate, arrays.n, events),
        claim=claim(name, settings.sign, evidence, chosen.found),
        law=law(chosen.found),
        share_biased=chosen.share_biased,
        estimate=chosen.estimate,
        detectable=math.nan,
        evidence=evidence,
        fitted=chosen.fitted,
    )


def _unfitted(name: Name, settings: Settings) -> RatesFit:
    from proxycal.methods.rates.wording import no_fit

    return RatesFit(
        name=name,
        sign=settings.sign,
        level=settings.level,
        verdict="not identified",
        findings=(no_fit(name),),
        claim="",
        law="",
        share_biased=math.nan,
        estimate=Estimate.missing(name, "no model could be fitted"),
        detectable=math.nan,
        evidence=None,
        fitted=None,
    )


def beyond_content(table: Table, content: Content, strict: Comparison, independent: Independent) -> float:
    """The p-value of the test whether the environment moves reports beyond content, along lines and by level.

    The error of the content is part of it: content that is known badly leaves something to the environment.
    """
    family = strict.biased.model.family
    zeros = isinstance(family, Counts) and family.zeros
    plain = Counts(zeros=zeros) if isinstance(family, Counts) else Binary()
    model = table.terms.model(plain, Shape(direct=False, lines=True))
    fit = table.climb(model, [as_it_is], strict.without)
    if fit is None:
        return math.nan
    places, at = [], int(model.at("mean").start)
    for term in model.predictors[0].terms:
        places += list(range(at, at + term.width)) if term.about.startswith("free ") else []
        at += term.width
    covariance = joint_covariance(fit, table, content, independent)[np.ix_(places, places)]
    values, vectors = np.linalg.eigh(covariance)
    # The levels of a column add up to nothing new beside the constant: their sum has the prior's variance.
    known = values < 1.0
    along = vectors[:, known].T @ fit.theta.dense[places]
    return float(chdtrc(int(known.sum()), float((along**2 / values[known]).sum())))


def answer(
    name: Name,
    kind: Kind,
    table: Table,
    content: Content,
    comparison: Comparison,
    independent: Independent,
    arrays: Arrays,
    level: float,
) -> Answered:
    """The model with a report of a comparison, in numbers."""
    fit, w = comparison.biased, table.weights
    covariance = joint_covariance(fit, table, content, independent)
    model = fit.model
    fitted = Fitted(model, content, kind.answers(model.family), fit.theta.dense, covariance)
    gated = "who" in model.names
    if not gated and arrays.trusted is None:
        fitted = anchored(fitted, table.rows, w)
    rows = fitted.rows(table.rows, table.outcome)
    share = float(w @ rows.p / w.sum())
    if gated:
        weight = w * rows.p / max(float(w @ rows.p), 1e-12)
        reported = float(weight @ rows.share)
        slope = weight @ fitted.slopes(table.rows, table.outcome, "share")
        own = 0.0
        alpha, scale = -math.log(max(reported, 1e-9)), 1.0 / max(reported, 1e-9)
    else:
        slope = w @ fitted.slopes(table.rows, table.outcome)
        own = float(w**2 @ rows.variance)
        alpha, scale = _overall(name, kind.sign, w, arrays.y, rows.mean)
        reported = math.exp(-alpha) if name == "counts" else 1.0 - alpha
    se = scale * math.sqrt(max(float(slope @ covariance @ slope), 0.0) + own)
    wide = float(ndtri(0.5 + 0.5 * level)) * se
    alpha = max(alpha, 0.0)
    high = alpha + wide if name == "counts" else min(alpha + wide, 1.0)
    estimate = Estimate(name, alpha, se, max(alpha - wide, 0.0), high)
    return Answered(fitted, Found(gated, share, reported, _driven(fit, table)), estimate, share)


def _overall(
    name: Name, sign: float, w: np.ndarray, y: np.ndarray | None, mean: np.ndarray
) -> tuple[float, float]:
    """Size of a graded bias and how it moves with the total of the truth.

    Of a count, the log of what is reported of the truth; of a yes or no, the share of the kind that is
    denied.
    """
    assert y is not None
    total, reported = float(w @ mean), float(w @ y)
    if name == "counts":
        return -sign * math.log(max(total, 1e-9) / max(reported, 1e-9)), 1.0 / max(total, 1e-9)
    if sign > 0.0:
        total, reported = float(w.sum()) - total, float(w.sum()) - reported
    return 1.0 - reported / max(total, 1e-9), reported / max(total, 1e-9) ** 2


def _driven(fit: Maximum, table: Table) -> float:
    """Share of the variance of who is biased that the environment and content decide."""
    if "who" not in fit.model.names:
        return 0.0
    sample = table.sample(fit.model)
    place = fit.model.names.index("who")
    p, w = expit(sample.designs[place] @ fit.coefficients("who")), table.weights / table.weights.sum()
    average = float(w @ p)
    return 1.0 - float(w @ (p * (1.0 - p))) / max(average * (1.0 - average), 1e-12)
