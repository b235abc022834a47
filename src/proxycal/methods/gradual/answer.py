"""The answer: the bias of each row relative to an anchor, its size, its shape, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy import stats

from proxycal.errors import TableError
from proxycal.finding import Finding
from proxycal.methods.gradual.anchor import Anchor, choose_anchor
from proxycal.methods.gradual.basis import fit_basis
from proxycal.methods.gradual.estimate import Estimate, estimate_bias
from proxycal.methods.gradual.moments import reduce, repeated_columns, row_moments, score_sums
from proxycal.methods.gradual.refusals import too_few_proxies
from proxycal.methods.gradual.shape import Shape, shapes
from proxycal.methods.gradual.thresholds import FOUND_P, VALIDATED_P, VALIDATED_ROWS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from proxycal.methods.gradual.basis import Kind

    Array = NDArray[np.float64]

Verdict = Literal["bias found", "no bias found", "not identified"]
EXCLUSION = "if the environment acts on the true outcome only through content"


@dataclass(frozen=True, slots=True)
class RowBias:
    """Bias of rows with its standard error and interval, all (n,), in the outcome's units."""

    bias: Array
    se: Array
    low: Array
    high: Array


@dataclass(frozen=True, slots=True)
class GradualAnswer:
    """Everything the gradual method says about a table.

    estimate : None where the proxies are too few for any estimate
    alpha : mean |bias| over the rows that are not the reference, with its standard error and interval
    shapes : b by level or along each environment column, relative to the reference level or the mean row
    findings : reasons against an answer (ok=False), and checks that passed
    """

    verdict: Verdict
    sentence: str
    estimate: Estimate | None
    anchor: Anchor | None
    alpha: float
    alpha_se: float
    alpha_interval: tuple[float, float]
    shapes: tuple[Shape, ...]
    findings: tuple[Finding, ...]
    level: float

    def bias_of(self, columns: Mapping[str, Array]) -> RowBias:
        """Bias of rows with these environment columns, relative to the anchor."""
        if self.estimate is None or self.anchor is None:
            raise TableError("no bias was estimated: " + self.sentence)
        return row_bias(self.estimate, self.anchor, self.estimate.basis.transform(columns), self.level)


def row_bias(estimate: Estimate, anchor: Anchor, basis: Array, level: float) -> RowBias:
    """Bias = (B - reference)'b + offset; the errors of b and of the offset add up."""
    gap = basis - anchor.reference
    bias = gap @ estimate.coefficients + anchor.offset
    own = np.einsum("ij,jk,ik->i", gap, estimate.covariance, gap)
    variance = np.maximum(own, 0.0) + anchor.offset_var
    # Satterthwaite: degrees of freedom of a sum of two estimated variances.
    spread = own**2 / estimate.degrees + anchor.offset_var**2 / anchor.offset_df
    degrees = np.divide(variance**2, spread, out=np.full(len(bias), estimate.degrees), where=spread > 0.0)
    se = np.sqrt(variance)
    half = stats.t.ppf(0.5 + level / 2.0, np.maximum(degrees, 1.0)) * se
    return RowBias(bias, se, bias - half, bias + half)


def answer_gradual(
    outcome: Array,
    proxies: Array,
    columns: Mapping[str, Array],
    kinds: Mapping[str, Kind],
    direction: Literal["over", "under"],
    *,
    weights: Array | None = None,
    cluster: NDArray[np.int64] | None = None,
    trusted: NDArray[np.bool_] | None = None,
    truth: Array | None = None,
    interactions: Sequence[tuple[str, str]] = (),
    shrunk_columns: Collection[str] | None = None,
    level: float = 0.95,
) -> GradualAnswer:
    """Estimate a bias that grades with E, assuming that E acts on the true outcome only through content.

    Parameters
    ----------
    outcome : (n,) array
        Reported values.
    proxies : (n, K) array
        Measures of content that the reporter does not touch.
    columns : mapping of environment column to (n,) array
        Categories as integer codes.
    kinds : mapping of environment column to "linear", "spline" or "category"
        What b may look like along the column.
    direction : "over" or "under"
        Which tenth is the least biased where nothing else anchors the answer.
    weights : (n,) array, optional
        Sampling weights of any unit.
    cluster : (n,) array, optional
        Integer codes of rows that belong together.
    trusted : (n,) array, optional
        True where the report is known to be free of the bias.
    truth : (n,) array, optional
        The true value where it was validated, else missing.
    interactions : pairs of environment columns
        Whose effects may depend on each other.
    shrunk_columns : names, optional
        Categories to shrink (default: those with many levels).
    level : float
        Of the intervals.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> e = rng.normal(size=2000)
    >>> content = 0.5 * e + rng.normal(size=2000)
    >>> proxies = content[:, None] + 0.5 * rng.normal(size=(2000, 3))
    >>> reported = content + 0.8 * e + 0.5 * rng.normal(size=2000)
    >>> answer = answer_gradual(reported, proxies, {"e": e}, {"e": "linear"}, "over")
    >>> answer.verdict, answer.estimate.dimension, answer.anchor.kind
    ('bias found', 1, 'the least biased tenth')

    """
    if proxies.shape[1] < 2:
        return _refused(too_few_proxies(proxies.shape[1]), level)
    units = len(outcome) if cluster is None else len(np.unique(cluster))
    basis = fit_basis(columns, kinds, interactions, weights, units)
    rows = basis.transform(columns)
    repeated = repeated_columns(row_moments(rows, proxies, outcome, weights))
    basis, rows = basis.without(repeated), rows[:, ~repeated]
    reduced = reduce(row_moments(rows, proxies, outcome, weights))
    scores = score_sums(reduced, rows, proxies, outcome, weights, cluster)
    estimate = estimate_bias(basis, reduced, scores, shrunk_columns)
    anchor = choose_anchor(rows, estimate.coefficients, outcome, direction, weights, cluster, trusted, truth)
    findings = list(estimate.refusals)
    if truth is not None and anchor.kind == "validated rows":
        findings += _check_validated(estimate, anchor, rows, outcome - truth, weights)
    alpha, alpha_se = mean_size(estimate, anchor, rows, weights)
    half = float(stats.t.ppf(0.5 + level / 2.0, estimate.degrees)) * alpha_se
    verdict = _verdict(estimate, findings)
    return GradualAnswer(
        verdict=verdict,
        sentence=_sentence(verdict, estimate, anchor, findings),
        estimate=estimate,
        anchor=anchor,
        alpha=alpha,
        alpha_se=alpha_se,
        alpha_interval=(max(alpha - half, 0.0), alpha + half),
        shapes=shapes(estimate, basis.mean_parts(columns, weights), columns, weights, level),
        findings=tuple(findings),
        level=level,
    )


def mean_size(estimate: Estimate, anchor: Anchor, basis: Array, weights: Array | None) -> tuple[float, float]:
    """alpha: mean |bias| over the rows that are not the reference, and its standard error (delta method)."""
    others = ~anchor.rows
    if not others.any():
        return 0.0, 0.0
    gap = basis[others] - anchor.reference
    bias = gap @ estimate.coefficients + anchor.offset
    mass = np.ones(len(bias)) if weights is None else weights[others]
    sign = np.sign(bias)
    slope = np.average(sign[:, None] * gap, axis=0, weights=mass)
    by_offset = float(np.average(sign, weights=mass))
    variance = slope @ estimate.covariance @ slope + by_offset**2 * anchor.offset_var
    return float(np.average(np.abs(bias), weights=mass)), float(np.sqrt(variance))


def _check_validated(
    estimate: Estimate, anchor: Anchor, basis: Array, error: Array, weights: Array | None
) -> list[Finding]:
    """Do the errors seen on validated rows follow b(E)? The one test of exclusion that data allow.

    Slope of (error - bias) on bias over the validated rows; its variance has a part from b, which all rows
    share, and a part from the noise of the reports.
    """
    rows = anchor.rows
    # Where no bias is found there is no direction to compare.
    if int(rows.sum()) < VALIDATED_ROWS or estimate.p_value >= FOUND_P:
        return []
    mass = np.ones(int(rows.sum())) if weights is None else weights[rows]
    mass = mass / mass.sum()
    gap = basis[rows] - anchor.reference
    bias = gap @ estimate.coefficients
    size = float(mass @ bias**2)
    if size <= 0.0:
        return []
    left = error[rows] - anchor.offset - bias
    slope = float(mass @ (bias * left)) / size
    toward = (mass * bias) @ gap / size
    noise = float(np.sum((mass * bias * left) ** 2)) / size**2
    t = slope / np.sqrt(toward @ estimate.covariance @ toward + noise)
    p = float(2.0 * stats.t.sf(abs(t), int(rows.sum()) - 2))
    ok = p >= VALIDATED_P
    agree = "agree with" if ok else "contradict"
    return [
        Finding(
            "Do validated rows follow the estimated bias?",
            f"{1.0 + slope:.2f} per unit, p = {p:.2g}",
            f"On {int(rows.sum())} validated rows the error of the report rises by {1.0 + slope:.2f} "
            f"per unit of the estimated bias (p = {p:.2g}): they {agree} it.",
            "" if ok else "The environment acts on the true outcome directly: use method 'validated'.",
            ok=ok,
            topic="validated rows",
            value=p,
        )
    ]


def _verdict(estimate: Estimate, findings: list[Finding]) -> Verdict:
    if any(not finding.ok for finding in findings):
        return "not identified"
    return "bias found" if estimate.p_value < FOUND_P else "no bias found"


def _sentence(verdict: Verdict, estimate: Estimate, anchor: Anchor, findings: list[Finding]) -> str:
    if verdict == "not identified":
        return next(finding.reading for finding in findings if not finding.ok)
    p = f"p = {estimate.p_value:.2g}"
    if verdict == "no bias found":
        return f"The environment does not move the outcome beyond content ({p})."
    known = estimate.sensitivity
    return (
        f"The environment moves the outcome beyond content ({p}): a reporting bias, {EXCLUSION}. "
        f"Sizes are relative to {anchor.kind}. To account for it, a direct effect would have to explain "
        f"{100 * known.r2:.0f}% of the outcome's variance given content: {known.times_benchmark:.1f} times "
        f"the effect of {known.benchmark!r} through content."
    )


def _refused(finding: Finding, level: float) -> GradualAnswer:
    missing = float("nan")
    return GradualAnswer(
        "not identified",
        finding.reading,
        None,
        None,
        missing,
        missing,
        (missing, missing),
        (),
        (finding,),
        level,
    )
