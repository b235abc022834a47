"""The answer: the bias of each row relative to an anchor, its size, its shape, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from proxycal.errors import TableError
from proxycal.methods.gradual.anchor import Anchor, Validated, choose_anchor, gather_validated
from proxycal.methods.gradual.basis import TRUSTED, fit_basis
from proxycal.methods.gradual.estimate import BiasEstimate, estimate_bias
from proxycal.methods.gradual.moments import reduce, repeated_columns, row_moments
from proxycal.methods.gradual.refusals import too_few_proxies
from proxycal.methods.gradual.rows import OnePiece, Rows
from proxycal.methods.gradual.scores import few_rows, row_scores, score_sums
from proxycal.methods.gradual.shape import Shape, shapes
from proxycal.methods.gradual.surface import RowBias, Surface, surface_of
from proxycal.methods.gradual.thresholds import FOUND_P, VALIDATED_P, VALIDATED_ROWS
from proxycal.methods.gradual.wording import verdict_sentence
from proxycal.result import Finding
from proxycal.tails import t_ppf, t_sf

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from proxycal.methods.gradual.basis import Basis, Kind
    from proxycal.methods.gradual.moments import Moments, Reduced
    from proxycal.methods.gradual.rows import Pieces
    from proxycal.methods.gradual.scores import Scores, ScoreSums
    from proxycal.result import Verdict

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class GradualAnswer:
    """Everything the gradual method says about a table.

    estimate, anchor, surface : None where the proxies are too few for any estimate
    alpha : mean |bias| over the rows that are not the reference, with its standard error and interval
    shapes : b by level or along each environment column, relative to the reference level or the mean row
    findings : reasons against an answer (ok=False), and checks that passed
    """

    verdict: Verdict
    sentence: str
    estimate: BiasEstimate | None
    anchor: Anchor | None
    surface: Surface | None
    alpha: float
    alpha_se: float
    alpha_interval: tuple[float, float]
    shapes: tuple[Shape, ...]
    findings: tuple[Finding, ...]
    level: float

    def bias_of(self, columns: Mapping[str, Array]) -> RowBias:
        """Bias of rows with these environment columns, relative to the anchor."""
        if self.surface is None:
            raise TableError("no bias was estimated: " + self.sentence)
        return self.surface.bias(columns, self.level)


def answer_gradual(
    outcome: Array,
    proxies: Array,
    columns: Mapping[str, Array],
    kinds: Mapping[str, Kind],
    *,
    proxy_names: Sequence[str] = (),
    weights: Array | None = None,
    cluster: NDArray[np.int64] | None = None,
    trusted: NDArray[np.bool_] | None = None,
    truth: Array | None = None,
    interactions: Sequence[tuple[str, str]] = (),
    shrunk_columns: Collection[str] | None = None,
    level: float = 0.95,
) -> GradualAnswer:
    """Estimate a bias that grades with E, assuming that E acts on the true outcome only through content.

    outcome : (n,) reports, turned so that the bias is upward
    proxies : (n, K) measures of content that the reporter does not touch
    columns, kinds : for each environment column its values (n,), categories as codes, and the form of b
    proxy_names : what findings call the proxies (default: their numbers)
    weights : (n,) sampling weights of any unit; cluster : (n,) codes of rows that belong together
    trusted : (n,) True where the report is known to be free of the bias
    truth : (n,) the true value where it was validated, else NaN
    interactions : pairs of environment columns whose effects may depend on each other
    shrunk_columns : categories to shrink (default: those with many levels)
    level : of the intervals

    >>> rng = np.random.default_rng(0)
    >>> e = rng.normal(size=2000)
    >>> content = 0.5 * e + rng.normal(size=2000)
    >>> proxies = content[:, None] + 0.5 * rng.normal(size=(2000, 3))
    >>> reported = content + 0.8 * e + 0.5 * rng.normal(size=2000)
    >>> answer = answer_gradual(reported, proxies, {"e": e}, {"e": "linear"})
    >>> answer.verdict, answer.estimate.dimension, answer.anchor.kind
    ('bias found', 1, 'the least biased tenth')
    """
    if trusted is not None:
        columns = {**columns, TRUSTED: np.asarray(trusted, dtype=float)}
    rows = Rows(outcome, proxies, columns, weights, cluster, truth)
    units = len(outcome) if cluster is None else len(np.unique(cluster))
    return answer_pieces(
        rows,
        OnePiece(rows),
        fit_basis(columns, kinds, interactions, weights, units),
        proxy_names=proxy_names,
        shrunk_columns=shrunk_columns,
        level=level,
    )


def answer_pieces(
    sample: Rows,
    pieces: Pieces,
    raw: Basis,
    *,
    proxy_names: Sequence[str] = (),
    shrunk_columns: Collection[str] | None = None,
    level: float = 0.95,
    shaped: bool = True,
) -> GradualAnswer:
    """The same of a table in pieces, by sums over all of its rows.

    sample : rows that stand for all, of which raw, the columns of b, comes. proxy_names, shrunk_columns,
    level : as in `answer_gradual`. shaped : whether b is asked for along each column.
    """
    if sample.proxies.shape[1] < 2:
        return _refused(too_few_proxies(sample.proxies.shape[1]), level)
    moments = pieces.add_up(partial(_moments, raw))
    repeated = repeated_columns(moments)
    basis, reduced = raw.without(repeated), reduce(moments.without(repeated))
    scores = _scores(pieces, basis, reduced)
    estimate = estimate_bias(basis, reduced, scores, shrunk_columns, proxy_names)
    validated = None if sample.truth is None else gather_validated(pieces, basis)
    size = sample.on(basis) @ estimate.coefficients
    ends = float(size.min()), float(size.max())
    anchor = choose_anchor(pieces, basis, estimate.coefficients, validated, ends)
    findings = list(estimate.refusals)
    if validated is not None:
        findings += check_validated(estimate, validated)
    sizes = pieces.add_up(partial(_sizes, basis, estimate.coefficients, anchor))
    alpha, alpha_se = sizes.mean(estimate, anchor)
    half = float(t_ppf(0.5 + level / 2.0, estimate.degrees)) * alpha_se
    verdict = _verdict(estimate, findings)
    mean = raw.parts_of(moments.mean[: moments.width])
    return GradualAnswer(
        verdict=verdict,
        sentence=verdict_sentence(verdict, estimate, anchor, findings),
        estimate=estimate,
        anchor=anchor,
        surface=surface_of(estimate, anchor),
        alpha=alpha,
        alpha_se=alpha_se,
        alpha_interval=(max(alpha - half, 0.0), alpha + half),
        shapes=shapes(estimate, mean, sample.columns, sample.weights, level) if shaped else (),
        findings=tuple(findings),
        level=level,
    )


def _moments(basis: Basis, rows: Rows) -> Moments:
    return row_moments(rows.on(basis), rows.proxies, rows.outcome, rows.weights)


def _scores(pieces: Pieces, basis: Basis, reduced: Reduced) -> Scores:
    if isinstance(pieces, OnePiece) and pieces.rows.cluster is None and few_rows(reduced):
        rows = pieces.rows
        return row_scores(reduced, rows.on(basis), rows.proxies, rows.outcome, rows.weights)
    return pieces.add_up(partial(_score_sums, basis, reduced))


def _score_sums(basis: Basis, reduced: Reduced, rows: Rows) -> ScoreSums:
    part = rows.on(basis)
    return score_sums(reduced, part, rows.proxies, rows.outcome, rows.weights, rows.cluster)


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sums over the rows that are not the reference: of weights, |bias|, its sign, its slope in b (q,)."""

    weight: float
    size: float
    sign: float
    slope: Array

    def __add__(self, other: Sizes) -> Sizes:
        return Sizes(
            self.weight + other.weight,
            self.size + other.size,
            self.sign + other.sign,
            self.slope + other.slope,
        )

    def mean(self, estimate: BiasEstimate, anchor: Anchor) -> tuple[float, float]:
        """alpha: mean |bias| over those rows, and its standard error (delta method)."""
        if self.weight == 0.0:
            return 0.0, 0.0
        slope = self.slope / self.weight
        by_offset = self.sign / self.weight
        variance = slope @ estimate.covariance @ slope + by_offset**2 * anchor.offset_var
        return self.size / self.weight, float(np.sqrt(variance))


def _sizes(basis: Basis, coefficients: Array, anchor: Anchor, rows: Rows) -> Sizes:
    part = rows.on(basis)
    own = part @ coefficients
    others = ~anchor.holds(rows, own)
    gap = part[others] - anchor.reference
    bias = gap @ coefficients + anchor.offset
    mass = rows.mass[others]
    signed = mass * np.sign(bias)
    return Sizes(float(mass.sum()), float(mass @ np.abs(bias)), float(signed.sum()), signed @ gap)


def check_validated(estimate: BiasEstimate, validated: Validated) -> list[Finding]:
    """Do the errors seen on validated rows follow b(E)? The one test of exclusion that data allow.

    Slope of (error - bias) on bias over the validated rows; its variance has a part from b, which all rows
    share, and a part from the noise of the reports.
    """
    count = len(validated.error)
    # Where no bias is found there is no direction to compare.
    if count < VALIDATED_ROWS or estimate.p_value >= FOUND_P:
        return []
    mass = validated.mass / validated.mass.sum()
    gap = validated.basis - validated.reference
    bias = gap @ estimate.coefficients
    size = float(mass @ bias**2)
    if size <= 0.0:
        return []
    left = validated.error - float(mass @ validated.error) - bias
    slope = float(mass @ (bias * left)) / size
    toward = (mass * bias) @ gap / size
    noise = float(np.sum((mass * bias * left) ** 2)) / size**2
    t = slope / np.sqrt(toward @ estimate.covariance @ toward + noise)
    p = float(2.0 * t_sf(abs(t), count - 2))
    ok = p >= VALIDATED_P
    agree = "agree with" if ok else "contradict"
    return [
        Finding(
            "Do validated rows follow the estimated bias?",
            f"{1.0 + slope:.2f} per unit, p = {p:.2g}",
            f"On {count} validated rows the error of the report rises by {1.0 + slope:.2f} "
            f"per unit of the estimated bias (p = {p:.2g}): they {agree} it.",
            "Nothing to do."
            if ok
            else "The environment acts on the true outcome directly: model the error of the validated rows "
            "instead, for example by regression calibration.",
            ok=ok,
            topic="validated-rows",
            value=p,
        )
    ]


def _verdict(estimate: BiasEstimate, findings: list[Finding]) -> Verdict:
    if any(not finding.ok for finding in findings):
        return "not identified"
    return "bias found" if estimate.p_value < FOUND_P else "no bias found"


def _refused(finding: Finding, level: float) -> GradualAnswer:
    missing = float("nan")
    return GradualAnswer(
        "not identified",
        finding.reading,
        None,
        None,
        None,
        missing,
        missing,
        (missing, missing),
        (),
        (finding,),
        level,
    )
