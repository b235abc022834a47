"""In which order to read what a fit found: the remedy that would help most first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxycal.result import Finding, Verdict

# What keeps a table from an answer, by how much its remedy would help: first what makes every method fail,
# then the design of the study, then what a few more rows or columns would mend.
_BY_HELP = (
    "skew",
    "negative",
    "small-counts",
    "copy",
    "scale",
    "relevance",
    "exclusion",
    "gap",
    "overlap",
    "direction",
    "share",
    "separation",
    "agreement",
    "direct",
    "first-stage",
    "two-valued",
    "convergence",
    "rows",
    "missing",
    "zeros",
    "collinear",
    "duplicated",
    "constant",
)


def most_helpful_first(findings: Sequence[Finding], verdict: Verdict) -> tuple[Finding, ...]:
    """The findings of a fit; where the verdict is "not identified", the remedy that would help most first.

    >>> from proxycal.result import Finding
    >>> flat = Finding("?", "", "", "Leave one out.", ok=False, topic="collinear")
    >>> wide = Finding("?", "", "", "Use the log scale.", ok=False, topic="skew")
    >>> [finding.topic for finding in most_helpful_first([flat, wide], "not identified")]
    ['skew', 'collinear']
    """
    if verdict != "not identified":
        return tuple(findings)
    rank = {topic: place for place, topic in enumerate(_BY_HELP)}
    # The reasons that are not listed are a method's own, and come before what is only untidy.
    middle = rank["rows"] - 0.5
    return tuple(sorted(findings, key=lambda f: (f.ok, 0 if f.ok else rank.get(f.topic, middle))))
