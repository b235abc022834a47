"""The exact method, end to end: the comparison of mixtures, matching and moments beside it, a verdict.

(y, P, E) -> mixture/compare -> alpha, P(A=1)    who is biased -> effect/match    and methods/moments
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from proxycal.effect.likely import match_likely
from proxycal.effect.uncertainty import bootstrap_covariance, bootstrap_weights, normal_interval
from proxycal.errors import SettingsError
from proxycal.methods.crosschecks import attempt
from proxycal.methods.exact.clusters import MIN_CLUSTERS, cluster_means, means_of
from proxycal.methods.exact.details import details_of, with_law
from proxycal.methods.exact.evidence import collect, verdict
from proxycal.methods.exact.findings import findings
from proxycal.methods.exact.outcome import Outcome, off_spike, read_outcome, told_by_environment
from proxycal.methods.exact.record import ExactFit, data_of
from proxycal.methods.exact.truths import read_truths
from proxycal.methods.moments.estimate import fit_moments, no_moments
from proxycal.methods.parts import outcome_of
from proxycal.methods.repeated import written_out
from proxycal.mixture.answers import answer_rows
from proxycal.mixture.compare import fit_exact
from proxycal.mixture.designs import canonical_order
from proxycal.mixture.refits import refit_shifts
from proxycal.mixture.select import MAX_J
from proxycal.mixture.wide.widen import widen
from proxycal.result import Estimate

if TYPE_CHECKING:
    from proxycal.methods.exact.evidence import Evidence
    from proxycal.mixture.candidates import ExactBias
    from proxycal.mixture.designs import Data
    from proxycal.mixture.wide.widen import Widened
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays

BOOTSTRAP_DRAWS = 200
# Rows up to which counts are written out. With more, counts are weights to the checks of an answer: estimates
# are the same, and a verdict on the border may be another (3 of 64 tables of 200 rows that stood for two).
WRITTEN_OUT = 20_000


def fit_exact_method(arrays: Arrays, settings: Settings) -> ExactFit:
    """Compare the models, then put matching and moments beside the answer.

    Validated rows have no part in it: they judge the answer. A row that stands for several is that many rows.
    """
    written, origin = written_out(arrays, WRITTEN_OUT)
    fit = judged(_fit_reports(written, settings), written)
    if origin is None or fit.controls is None or fit.means is not None:
        return fit
    # Matched rows are shown as those of the table.
    return replace(fit, controls=replace(fit.controls, position=origin[fit.controls.position]))


def judged(fit: ExactFit, arrays: Arrays) -> ExactFit:
    """The fit after the validated rows among `arrays`, if there are any, have been heard."""
    seen = read_truths(fit, arrays)
    return fit if seen is None else with_evidence(fit, replace(fit.evidence, truths=seen))


def _fit_reports(arrays: Arrays, settings: Settings) -> ExactFit:
    """Rows are compared; where they have clusters and show no bias of their own, whole clusters may."""
    by_row = finish(compare_models(arrays, settings), arrays, settings)
    if arrays.cluster is None or by_row.verdict == "bias found":
        return by_row
    means = cluster_means(arrays)[0]
    if means.n < MIN_CLUSTERS or not arrays.n > means.n or settings.effect != "constant":
        return by_row
    by_cluster = finish(compare_models(means, settings, always_wide=True), means, settings)
    if by_cluster.verdict == "bias found":
        evidence = replace(by_cluster.evidence, whole_clusters=True)
        return with_evidence(replace(by_cluster, means=means_of(arrays)), evidence)
    if by_cluster.verdict == "not identified":
        return with_evidence(by_row, replace(by_row.evidence, clusters_unclear=True))
    return by_row


def with_evidence(fit: ExactFit, evidence: Evidence) -> ExactFit:
    """The fit with what its verdict and findings then are."""
    return replace(
        fit,
        evidence=evidence,
        verdict=verdict(evidence),
        findings=findings(evidence),
        details=with_law(fit.details, evidence),
    )


@dataclass(frozen=True, slots=True)
class Comparison:
    """The model comparison of some rows: its sign, the rows as it saw them, its answer and the wider one.

    arrays, data : the rows that it saw, those of a spike set apart. widened : None before it was made.
    """

    sign: float
    arrays: Arrays
    data: Data
    bias: ExactBias
    outcome: Outcome
    widened: Widened | None = None


def compare_models(arrays: Arrays, settings: Settings, always_wide: bool = False) -> Comparison:
    """Compare the models, plainly and widely; always_wide : the wider law answers, though it be no better."""
    comparison = compare_plainly(arrays, settings, prepare=always_wide)
    return replace(comparison, widened=widen_plain(comparison, settings, always_wide=always_wide))


@dataclass(frozen=True, slots=True)
class Whole:
    """What is known of a table that is compared by a sample: its weight, many of its rows, its outcome."""

    weight: float
    judges: Data
    outcome: Outcome


def compare_plainly(
    arrays: Arrays, settings: Settings, whole: Whole | None = None, prepare: bool = False
) -> Comparison:
    """One size, a gate by E; whole : the table that the arrays are a sample of, if they are one.

    prepare : only what the wider comparison starts from, since it will answer.
    """
    _check_effect(settings.effect, arrays)
    outcome = read_outcome(outcome_of(arrays)) if whole is None else whole.outcome
    arrays = off_spike(arrays, outcome)
    data = data_of(arrays, settings.sign)
    # The plain comparison takes rounded values for exact ones, and would make atoms of them: it only
    # prepares.
    prepare = settings.effect == "constant" and (prepare or outcome.ranged)
    compared = replace(data, levels=None) if prepare else data
    most = 1 if prepare else MAX_J
    total, judges = (None, None) if whole is None else (whole.weight, whole.judges)
    bias = fit_exact(compared, settings.effect, most, seed=settings.random_state, total=total, judges=judges)
    if settings.interval == "bootstrap":
        bias = _bootstrapped(bias, data, settings)
    return Comparison(settings.sign, arrays, data, bias, outcome)


def widen_plain(
    comparison: Comparison, settings: Settings, total: float | None = None, always_wide: bool = False
) -> Widened:
    """The wider comparison of the rows of a plain one."""
    # The mirror is exact: the reports are the turned outcome turned back.
    ranges = comparison.outcome.ranges(comparison.sign * comparison.data.y, comparison.sign)
    one_size = settings.effect != "constant"
    return widen(comparison.bias, comparison.data, ranges, total, one_size, always_wide)


def finish(
    comparison: Comparison,
    whole: Arrays,
    settings: Settings,
    n: int | None = None,
    cost: float = 1.0,
    checked: Data | None = None,
) -> ExactFit:
    """The answer of a comparison with matching and moments of its rows beside it.

    whole : all rows, those on a spike too. n, cost : where the rows are a sample, those of the whole table,
    and what a parameter costs there in units of its cost here. checked : rows in which to look for what may
    hide a bias, if not these.
    """
    data, bias, widened = comparison.data, comparison.bias, comparison.widened
    arrays, outcome = comparison.arrays, comparison.outcome
    law = None if widened is None else widened.law
    ranges = outcome.ranges(outcome_of(arrays), comparison.sign)
    answers = answer_rows(bias.bias, data, bias.cluster_sd, law, ranges)
    p_biased, level = answers.p_biased, settings.level
    # Neither has a part in the answer: where one cannot be computed, its row says why.
    controls, match = attempt(
        lambda: match_likely(data.y, answers.content, p_biased, data.weights, data.cluster, level),
        lambda why: (None, Estimate.missing("match", why)),
    )
    moments = attempt(
        lambda: fit_moments(data.y, arrays.P, arrays.E, data.weights, data.cluster, level),
        partial(no_moments, arrays.P.shape[1], float(data.weights.sum())),
    )
    estimates = (
        wide_estimate(widened, level)
        if law is not None and widened is not None
        else spanned(exact_estimate(bias, level), None if bias.bias.shape.means == "atom" else widened),
        Estimate("moments", moments.alpha, moments.se, moments.low, moments.high, moments.note),
        match,
        *_level_estimates(bias, arrays, level),
    )
    evidence = collect(bias, data, answers, estimates, moments, widened, checked)
    if n is not None:
        evidence = replace(evidence, n=n, cost=evidence.cost * cost, sampled=whole.n)
    spike_p, rounding_p = told_by_environment(whole, outcome)
    evidence = replace(evidence, kind=outcome.kind.kind, spike_p=spike_p, rounding_p=rounding_p)
    return ExactFit(
        sign=comparison.sign,
        level=level,
        spec=bias.bias,
        shift_cov=bias.shift_cov,
        gate_cov=bias.gate_cov,
        cov=bias.cov if law is None else law.covariance,
        sigma=bias.sigma if law is None or widened is None else widened.sigma,
        cluster_sd=bias.cluster_sd if law is None or widened is None else widened.cluster_sd,
        controls=controls,
        estimate=estimates[0],
        estimates=estimates,
        # Nobody is biased by nothing.
        share_biased=evidence.share if estimates[0].alpha > 0.0 else 0.0,
        evidence=evidence,
        verdict=verdict(evidence),
        findings=findings(evidence),
        details=with_law(details_of(bias, data, answers.mu, comparison.sign, arrays, level, law), evidence),
        law=law,
        outcome=outcome,
    )


def _bootstrapped(answer: ExactBias, data: Data, settings: Settings) -> ExactBias:
    """The same answer with the covariance of reweighted refits in place of the sandwich."""
    order = canonical_order(data)
    weights = np.empty((BOOTSTRAP_DRAWS, len(order)))
    cluster = None if data.cluster is None else data.cluster[order]
    weights[:, order] = bootstrap_weights(
        data.weights[order], cluster, BOOTSTRAP_DRAWS, settings.random_state
    )
    return replace(answer, shift_cov=bootstrap_covariance(refit_shifts(answer, data, weights)))


def _check_effect(effect: str, arrays: Arrays) -> None:
    column = effect.removeprefix("by:")
    if effect.startswith("by:") and column not in arrays.levels:
        known = ", ".join(f"'by:{name}'" for name in arrays.levels) or "none here"
        raise SettingsError(
            f"effect='{effect}': '{column}' is not a categorical environment column; possible: {known}. "
            "A numeric column can be cut into a few levels first"
        )


def exact_estimate(answer: ExactBias, level: float) -> Estimate:
    """The shift itself, or, where it varies, its mean over the biased."""
    at = answer.where_biased
    note = (
        ""
        if answer.bias.frame.effect == "constant"
        else f"mean over the biased rows; {answer.bias.frame.effect}"
    )
    mean, se = float(at @ answer.shift), float(np.sqrt(max(float(at @ answer.shift_cov @ at), 0.0)))
    return _as_stated(_normal("exact", mean, se, level, note))


def wide_estimate(widened: Widened, level: float) -> Estimate:
    """The mean bias among the biased by the wider law."""
    own = _normal("exact", widened.size, widened.se, level, "mean over the biased rows")
    return spanned(_as_stated(own), widened)


def _as_stated(own: Estimate) -> Estimate:
    """The estimate of a size that is not negative: a mean below 0 is no bias of the stated direction.

    The interval shows it.
    """
    return own if own.alpha >= 0.0 else replace(own, alpha=0.0, high=max(own.high, 0.0))


def spanned(own: Estimate, widened: Widened | None) -> Estimate:
    """The estimate with an interval that spans the sizes of all laws that explain the table about as well.

    Those are told by the wider search, which knows no atoms: beside one it has no say.
    """
    if widened is None or not widened.gain > 0.0 or not math.isfinite(own.low):
        return own
    low, high = widened.lowest - (own.alpha - own.low), widened.highest + (own.high - own.alpha)
    return replace(own, low=min(own.low, max(low, 0.0)), high=max(own.high, high))


def _level_estimates(answer: ExactBias, arrays: Arrays, level: float) -> list[Estimate]:
    """The size at each level, or how it changes with each environment column."""
    frame = answer.bias.frame
    if frame.effect == "constant":
        return []
    if frame.effect == "linear":
        # From the gate's orthonormal columns back to one slope per encoded environment column.
        names = [f"exact, slope of {name}" for name in arrays.environment_names]
        size, cov = (
            frame.gate.rotate @ answer.shift[1:],
            frame.gate.rotate @ answer.shift_cov[1:, 1:] @ frame.gate.rotate.T,
        )
    else:
        column = frame.effect.removeprefix("by:")
        names = [f"exact, {column}={name}" for name in arrays.level_names[column]]
        size, cov = answer.shift, answer.shift_cov
    errors = np.sqrt(np.maximum(np.diag(cov), 0.0))
    triples = zip(names, size, errors, strict=True)
    return [_normal(name, float(a), float(se), level) for name, a, se in triples]


def _normal(name: str, alpha: float, se: float, level: float, note: str = "") -> Estimate:
    if not math.isfinite(se):
        return Estimate(name, alpha, math.nan, math.nan, math.nan, note)
    return Estimate(name, alpha, se, *normal_interval(alpha, se, level), note)
