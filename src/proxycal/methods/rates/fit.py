"""Counts and yes/no outcomes: content, the comparison under either assumption, the claim, and the answer."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtrc

from proxycal.engine.content import fit_content
from proxycal.engine.covariates import Covariates
from proxycal.engine.families.binary import Binary
from proxycal.engine.families.counts import Counts
from proxycal.methods.rates.claims import Evidence
from proxycal.methods.rates.climb import Table, as_it_is
from proxycal.methods.rates.estimate import answer, sized
from proxycal.methods.rates.inference import Independent, joint_covariance
from proxycal.methods.rates.kinds import kind_of
from proxycal.methods.rates.record import RatesFit
from proxycal.methods.rates.terms import Shape, Terms
from proxycal.methods.rates.validated import Validated
from proxycal.methods.rates.wording import claim, findings, law
from proxycal.result import Estimate

if TYPE_CHECKING:
    from proxycal.engine.content import Content
    from proxycal.methods.rates.climb import Comparison
    from proxycal.methods.rates.estimate import Answered
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


def fit_rates(name: Name, arrays: Arrays, settings: Settings) -> RatesFit:
    """The whole fit."""
    kind = kind_of(name, settings.sign)
    bare, w = Covariates.of(arrays), arrays.weights
    content = fit_content(bare, w, single=len(set(arrays.proxy_source)) == 1)
    rows = bare.with_content(content.score(bare))
    table = Table(rows, kind.outcome(arrays), w, Terms.learn(rows))
    independent = Independent(arrays.cluster, arrays.counts)
    family, validated = kind.family(table, content), Validated.of(arrays, settings.sign)
    if validated.enough:
        comparison = kind.compare_validated(table, family, arrays, validated)
        if comparison is None:
            return _unfitted(name, settings)
        table = replace(table, outcome=table.outcome | kind.known(arrays))
        chosen = answer(name, kind, table, content, comparison.biased, independent, arrays, settings.level)
        return _finished(
            name, settings, arrays, chosen, Evidence.known(validated, chosen.found, settings.exclusion)
        )
    free, strict = (kind.compare(table, family, direct) for direct in (True, False))
    if free is None or strict is None:
        return _unfitted(name, settings)
    evidence = Evidence(
        lead=free.lead,
        lead_through_content=strict.lead,
        against_content=free.without.evidence - strict.biased.evidence,
        direct_lead=free.without.evidence - strict.without.evidence,
        beyond_p=beyond_content(table, content, strict, independent),
        proxy_p=content.p_beyond,
        stated=settings.exclusion,
        free=sized(name, kind, table, content, free.biased, arrays).found,
        through_content=sized(name, kind, table, content, strict.biased, arrays).found,
        validated=validated,
    )
    through_content = evidence.second or (settings.exclusion and not evidence.first)
    fit = (strict if through_content else free).biased
    chosen = answer(name, kind, table, content, fit, independent, arrays, settings.level)
    return _finished(name, settings, arrays, chosen, evidence)


def _finished(
    name: Name, settings: Settings, arrays: Arrays, chosen: Answered, evidence: Evidence
) -> RatesFit:
    events = float(arrays.weights @ (arrays.y if arrays.y is not None else arrays.weights))
    return RatesFit(
        name=name,
        sign=settings.sign,
        level=settings.level,
        verdict=evidence.verdict,
        findings=findings(name, settings.sign, evidence, chosen.found, chosen.estimate, arrays.n, events),
        claim=claim(name, settings.sign, evidence, chosen.found),
        law=law(chosen.found),
        share_biased=chosen.found.share_biased,
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
    plain = replace(family, report="none") if isinstance(family, Counts) else Binary()
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
