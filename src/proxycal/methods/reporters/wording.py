"""What was found of several reports, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxycal.methods.reporters.thresholds import GRADED, LEAD
from proxycal.result import Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxycal.methods.reporters.claims import Bias, Evidence, Reporter
    from proxycal.result import Verdict

NOTHING = "Nothing to do."
ALIKE = "What all reporters get wrong alike is not seen."


def _joined(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def claim(reporters: tuple[Reporter, ...]) -> str:
    """What follows the size of the bias: whose it is, in how many reports, and what is not seen."""
    found = [(one, one.bias) for one in reporters if one.bias is not None and one.found]
    if not found:
        return ""
    shares = [
        f"in {bias.share:.0%} of the reports of '{one.name}'"
        + (f" (by {bias.size:.3g})" if len(found) > 1 else "")
        for one, bias in found
    ]
    return f"{_joined(shares)}; what all reporters get wrong alike is not seen"


def findings(
    reporters: tuple[Reporter, ...], evidence: Evidence, verdict: Verdict, sign: float, level: float
) -> tuple[Finding, ...]:
    """The reason for the verdict first, then each reporter, then what the answer rests on."""
    made = [comparison(reporters, evidence, verdict)]
    made += [one_reporter(one, sign, level) for one in reporters]
    if len(reporters) == 2 and verdict == "bias found":
        made.append(which_of_two(reporters, evidence, sign))
    if evidence.agreed > 0.0:
        made.append(agreement(evidence))
    made += [alike(), truth(evidence)]
    if evidence.effect > 1.0:
        made.append(clusters(evidence))
    return tuple(made)


def _ahead(bias: Bias) -> float:
    """How far the evidence for a bias is beyond what a claim needs."""
    return bias.lead - bias.needed


def comparison(reporters: tuple[Reporter, ...], evidence: Evidence, verdict: Verdict) -> Finding:
    """The verdict and its reason."""
    tried = [one.bias for one in reporters if one.bias is not None]
    found = [one.bias for one in reporters if one.bias is not None and one.found]
    shown = min(found, key=_ahead) if found else max(tried, key=_ahead, default=None)
    lead, needed = (0.0, LEAD) if shown is None else (shown.lead, shown.needed)
    remedy = NOTHING
    if found:
        names = _joined([f"'{one.name}'" for one in reporters if one.found])
        told = all(bias.told for bias in found)
        how = "the environment tells which" if told else "they stand far apart"
        reading = (
            f"A bias in some reports of {names} explains the differences of the reports better than errors "
            f"of any spread and differences that follow the environment (log evidence {lead:+.1f}; "
            f"{needed:g} is needed): {how}. {ALIKE}"
        )
        if not told:
            remedy = (
                "A long one-sided tail of errors would look the same: look at the reports that differ most."
            )
    elif verdict == "no bias found":
        reading = (
            f"Errors and a level explain the differences of the reports as well (log evidence {lead:+.1f}; "
            f"{needed:g} is needed). {ALIKE}"
        )
    elif evidence.graded >= GRADED:
        reading = (
            "The differences of the reports follow the environment gradually "
            f"(log evidence {evidence.graded:+.1f}), not as a bias of some reports would "
            f"(log evidence {lead:+.1f}; {needed:g} is needed): they do not tell which reporter is wrong."
        )
        remedy = "Add a third report, or proxies of the truth."
    else:
        reading = (
            "Some reports differ from the rest, but so little, so rarely, or so wholly by environment that a "
            f"shape of the errors would look the same (log evidence {lead:+.1f})."
        )
        remedy = "Add rows, a third report, or proxies of the truth."
    return Finding(
        question="Does a bias of some reports explain how they differ?",
        statistic=f"log evidence {lead:+.1f}",
        reading=reading,
        remedy=remedy,
        ok=verdict != "not identified",
        topic="comparison",
        value=lead,
    )


def one_reporter(one: Reporter, sign: float, level: float) -> Finding:
    """What is found of a reporter."""
    way = "high" if sign > 0.0 else "low"
    if one.bias is not None and one.found:
        bias = one.bias
        size = f"{bias.size:.4g} ({level * 100:g}% interval {bias.low:.4g} to {bias.high:.4g})"
        reading = f"About {bias.share:.0%} of the {one.n:,} reports of '{one.name}' are too {way}, by {size}."
    else:
        reading = f"No bias is found in the {one.n:,} reports of '{one.name}'."
    reading += f" Its other errors have an sd of {one.error:.3g}."
    mean = ""
    if one.above == one.above:
        mean = f"{one.above:+.4g}"
        wide = 1.96 * one.above_se
        reading += (
            f" On average it reports {mean} beside the others in the same rows "
            f"(95% interval {one.above - wide:.4g} to {one.above + wide:.4g})."
        )
    return Finding(
        question=f"How does '{one.name}' report?",
        statistic=f"mean difference {mean}" if mean else f"{one.n:,} reports",
        reading=reading,
        remedy=NOTHING,
        ok=True,
        topic="reporter",
        value=one.above if mean else None,
    )


def which_of_two(reporters: tuple[Reporter, ...], evidence: Evidence, sign: float) -> Finding:
    """What tells which of two reporters is the biased one."""
    first = next(one for one in reporters if one.found)
    other = next(one for one in reporters if one is not first)
    way = "high" if sign > 0.0 else "low"
    share = 0.0 if first.bias is None else first.bias.share
    if evidence.exact:
        reading = "Rows in which both agree exactly are taken as true: the rest differ from these."
    elif evidence.level:
        reading = (
            f"The two differ by a level in all rows, so that '{first.name}' too {way} in {share:.0%} of "
            f"the rows, or '{other.name}' in the others, would look the same: the smaller share is reported."
        )
    else:
        reading = (
            "Where no bias is, the two agree on average, which tells whose bias it is. If they differ by a "
            f"level in all rows, '{other.name}' could be the one that is too {way}, in the other rows."
        )
    return Finding(
        question="Which of the two is biased?",
        statistic=f"'{first.name}', {share:.0%}",
        reading=reading,
        remedy="A third report, or proxies of the truth, would tell.",
        ok=True,
        topic="which-of-two",
    )


def agreement(evidence: Evidence) -> Finding:
    """What exact agreement says."""
    if evidence.exact:
        reading = (
            f"All reports agree exactly in {evidence.agreed:.0%} of the rows that have several, more than "
            "errors allow: there they are taken as the truth."
        )
    else:
        reading = (
            f"All reports agree exactly in {evidence.agreed:.0%} of the rows that have several, about as "
            "many as rounded values do by chance."
        )
    return Finding(
        question="Do reports agree exactly?",
        statistic=f"{evidence.agreed:.1%} of the rows",
        reading=reading,
        remedy=NOTHING,
        ok=True,
        topic="exact-agreement",
        value=evidence.agreed,
    )


def alike() -> Finding:
    """What differences of reports cannot show: said beside every verdict."""
    return Finding(
        question="What do several reports not show?",
        statistic="common errors",
        reading=f"{ALIKE} A cause that nobody measured cannot mislead: it is in all reports and cancels.",
        remedy="Ask whether the reporters have a source in common, or learned of each other's report.",
        ok=True,
        topic="alike",
    )


def truth(evidence: Evidence) -> Finding:
    """What the truth of a row is taken from."""
    return Finding(
        question="What tells of the truth of a row?",
        statistic="reports and proxies" if evidence.known else "reports alone",
        reading="The truth of a row is taken from its reports, each by its error, and from its proxies."
        if evidence.known
        else "The truth of a row is taken from its reports alone, each by its error.",
        remedy=NOTHING,
        ok=True,
        topic="truth-of-rows",
    )


def clusters(evidence: Evidence) -> Finding:
    """How many rows count as one."""
    return Finding(
        question="Do rows of a cluster tell the same?",
        statistic=f"{evidence.effect:.2f} rows as one",
        reading=f"Rows of a cluster vary together: for the evidence {evidence.effect:.2f} of them count as "
        "one.",
        remedy=NOTHING,
        ok=True,
        topic="clusters",
        value=evidence.effect,
    )


def no_fit() -> Finding:
    """Where no model could be fitted."""
    return Finding(
        question="Could the reports be fitted?",
        statistic="no model",
        reading="No model of the differences of the reports could be fitted.",
        remedy="Drop collinear or nearly constant columns, or columns that hold few reports.",
        ok=False,
        topic="comparison",
    )
