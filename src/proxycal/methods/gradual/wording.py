"""The answer in words: the sentence of the verdict, what a claim rests on, and the findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxycal.methods.gradual.basis import LEVEL_ROWS
from proxycal.methods.gradual.thresholds import ANCHOR_ROWS, FEW_CLUSTERS
from proxycal.result import Finding

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from proxycal.methods.gradual.anchor import Anchor
    from proxycal.methods.gradual.answer import GradualAnswer
    from proxycal.methods.gradual.basis import Kind
    from proxycal.methods.gradual.estimate import BiasEstimate
    from proxycal.methods.gradual.sensitivity import Sensitivity
    from proxycal.result import Verdict

EXCLUSION = "if the environment acts on the true outcome only through content"


def verdict_sentence(
    verdict: Verdict, estimate: BiasEstimate, anchor: Anchor, findings: Sequence[Finding]
) -> str:
    """The verdict in one or two sentences, with its condition and how strong a violation would undo it."""
    if verdict == "not identified":
        return next(finding.reading for finding in findings if not finding.ok)
    p = in_print(estimate.p_value)
    if verdict == "no bias found":
        return f"The environment does not move the outcome beyond content ({p})."
    return (
        f"The environment moves the outcome beyond content ({p}): a reporting bias, {EXCLUSION}. "
        f"Sizes are relative to {anchor.kind}. {_strength(estimate.sensitivity)}"
    )


def in_print(p: float) -> str:
    """A p-value for reading; what lies below the precision of its computation has no digits.

    >>> in_print(0.0123), in_print(0.0)
    ('p = 0.012', 'p < 1e-16')
    """
    return f"p = {p:.2g}" if p >= 1e-16 else "p < 1e-16"


def claim(answer: GradualAnswer) -> str:
    """What follows the size of a bias: where, relative to what, under which assumption; empty without one."""
    if answer.estimate is None or answer.anchor is None:
        return ""
    share = 100.0 * answer.estimate.sensitivity.r2
    return (
        f"on average, relative to {answer.anchor.kind}, {EXCLUSION} (a direct effect that explains "
        f"{share:.0f}% of the outcome's variance given content would look the same)"
    )


def findings(answer: GradualAnswer, kinds: Mapping[str, Kind], clusters: int = 0) -> tuple[Finding, ...]:
    """The verdict's reasons first, then what the sizes are relative to and what b(E) may look like.

    clusters : how many there are; 0 where none are declared.
    """
    if answer.estimate is None or answer.anchor is None:
        return answer.findings
    own = list(answer.findings)
    if answer.verdict != "not identified":
        own.insert(0, _beyond_content(answer, answer.estimate))
    few = [_few_clusters(clusters)] if 0 < clusters < FEW_CLUSTERS else []
    return (*own, _anchor(answer.anchor), _form(kinds), *few)


def _beyond_content(answer: GradualAnswer, estimate: BiasEstimate) -> Finding:
    is_bias = answer.verdict == "bias found"
    return Finding(
        "Does the environment move the outcome beyond content?",
        in_print(estimate.p_value),
        answer.sentence,
        f"Ask whether {estimate.sensitivity.benchmark!r} or another environment column can act on the true "
        "outcome itself: the data cannot distinguish that from a bias."
        if is_bias
        else "Nothing to do.",
        ok=True,
        topic="beyond-content",
        value=estimate.p_value,
    )


def _anchor(anchor: Anchor) -> Finding:
    rows = anchor.count
    relative = anchor.kind == "the least biased tenth"
    return Finding(
        "Relative to what is the bias measured?",
        f"{anchor.kind}, {rows:,} rows",
        f"No row is known to be free of the bias, so its size is relative to {anchor.kind} of the rows "
        f"({rows:,}): a bias that all rows share cannot be found."
        if relative
        else f"The level of the bias comes from {rows:,} {anchor.kind}.",
        f"Name a column with the true value of at least {ANCHOR_ROWS} rows as the role 'truth', or one that "
        f"marks at least {LEVEL_ROWS} reports known to be free of the bias as the role 'trusted'."
        if relative
        else "Nothing to do.",
        ok=True,
        topic="anchor",
        value=float(rows),
    )


def _few_clusters(clusters: int) -> Finding:
    return Finding(
        "Are there enough clusters for the intervals?",
        f"{clusters:,} clusters",
        f"There are {clusters:,} clusters: with so few the intervals of a graded bias may be too short (with "
        f"{FEW_CLUSTERS} clusters, 95% intervals held the truth in 94% of the rows of simulations).",
        f"Read the intervals as too short, or collect {FEW_CLUSTERS:,} clusters or more.",
        ok=False,
        topic="few-clusters",
        value=float(clusters),
    )


def _form(kinds: Mapping[str, Kind]) -> Finding:
    straight = "linear" in kinds.values()
    bent = "spline" in kinds.values()
    form = "straight lines" if straight else "splines" if bent else "levels"
    return Finding(
        "What may the bias look like along the environment?",
        form,
        "There are too few rows for curves: along numeric environment columns the bias is a straight line, "
        "and the intervals are too short if it bends."
        if straight
        else "Along numeric environment columns the bias may be any smooth curve; a step is rounded off."
        if bent
        else "Each level of the environment has its own bias.",
        "Use fewer environment columns or more rows if the bias may bend." if straight else "Nothing to do.",
        ok=not straight,
        topic="form",
    )


def _strength(known: Sensitivity) -> str:
    return (
        f"To account for it, a direct effect would have to explain {100 * known.r2:.0f}% of the outcome's "
        f"variance given content: {known.times_benchmark:.1f} times the effect of {known.benchmark!r} "
        "through content."
    )
