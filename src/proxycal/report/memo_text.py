"""What a memo about a fit says: the question, the answer, what it rests on, what would change it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from proxycal.report.helps import helps
from proxycal.report.numbers import total_text
from proxycal.report.plots import main_plot
from proxycal.report.plots.totals import PLOT as TOTALS
from proxycal.report.plots.totals import shown_totals
from proxycal.report.summary import change_text, cite, facts, formula, headline, refutations, unseen
from proxycal.table.surface import in_dialect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxycal.report.plots.plot import Plot
    from proxycal.result import Fit

# A memo is one to two pages: the largest groups, and the first of a longer list.
_MOST_GROUPS, _MOST_POINTS, _MOST_NAMES = 12, 4, 8
PAPER = "Vishnubhatla, Wan, Harrison, Raglin and Liu, Proxy-Guided Measurement Calibration."


@dataclass(frozen=True, slots=True)
class Memo:
    """The text of a memo, in its order.

    title, asked, answer : sentences. facts : numbers by name. heads, rows : the table of totals, rows of
    text; the last row is all rows; none of a table that was read in pieces. note : below the table.
    rests_on, would_change, cite : a sentence each.
    """

    title: str
    asked: str
    answer: str
    facts: tuple[tuple[str, str], ...]
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str
    rests_on: tuple[str, ...]
    would_change: tuple[str, ...]
    cite: tuple[str, ...]


def memo_text(fit: Fit) -> Memo:
    """The memo about a fit, in the words of the surface that asks for it."""
    heads, rows, note = _table(fit)
    return Memo(
        title=f"{fit.roles.outcome}: is it {fit.settings.direction}-reported, and by how much?",
        asked=_asked(fit),
        answer=answer_text(fit),
        facts=facts(fit),
        heads=heads,
        rows=rows,
        note=note,
        rests_on=_rests_on(fit),
        would_change=_would_change(fit),
        cite=(in_dialect(cite(fit)), f"Formula: {formula(fit)}.", f"The model of the bias: {PAPER}"),
    )


def memo_plot(fit: Fit) -> Plot:
    """The picture of the memo: totals where a bias was found, else what shows the result best."""
    found = fit.verdict == "bias found" and not TOTALS.lacking(fit)
    return TOTALS if found and len(shown_totals(fit).labels) > 1 else main_plot(fit)


def _asked(fit: Fit) -> str:
    way = "too high" if fit.settings.direction == "over" else "too low"
    statistic = fit.totals[0].statistic if fit.totals else "total"
    if fit.roles.reports:
        return (
            f"Whether {_named(fit.roles.report_names)}, reports of the same truth, are {way} in some of "
            f"{fit.n:,} rows, in which, and what the {statistic} of the truth is. They are compared with "
            "each other in the same rows."
        )
    proxies, environment = _named(fit.roles.proxies), _named(fit.roles.environment)
    return (
        f"Whether the reported {fit.roles.outcome} is {way} in some of {fit.n:,} rows, in which, and what "
        f"its {statistic} is without that bias. {proxies} measure the same thing and never saw the report; "
        f"{environment} may affect both the true value and who is biased."
    )


def _named(names: Sequence[str]) -> str:
    shown = list(names[:_MOST_NAMES])
    more = len(names) - len(shown)
    listed = [*shown, f"{more} more columns"] if more else shown
    return " and ".join(filter(None, [", ".join(listed[:-1]), listed[-1]]))


def answer_text(fit: Fit) -> str:
    """Two sentences: the bias, and what it does to the total, or what would have been found."""
    if fit.why_left_alone:
        second = unseen(fit) or "What was reported is neither confirmed nor corrected by this table."
        return in_dialect(f"{headline(fit)} {second}")
    if not fit.totals:
        return headline(fit)
    totals = fit.totals[0]
    overall = totals.records()[-1]
    words = total_text(overall)
    return (
        f"{headline(fit)} The {totals.statistic} of {fit.roles.outcome} is {words.calibrated} "
        f"({fit.settings.level * 100:g}% interval {words.interval}) and was reported as {words.reported} "
        f"({change_text(totals, overall)})."
    )


def _table(fit: Fit) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...], str]:
    if not fit.totals:
        return (), (), in_dialect("The table was read in pieces; `proxycal totals RUN TABLE` adds it up.")
    totals = shown_totals(fit)
    level = f"{fit.settings.level * 100:g}% interval"
    heads = (totals.by or "", "Rows", "Reported", "Calibrated", level, "Change")
    records = totals.records()
    groups = sorted(records[:-1], key=lambda row: -abs(row["calibrated"]))
    lines = []
    for row in [*groups[:_MOST_GROUPS], records[-1]]:
        words = total_text(row)
        name = "All rows" if row is records[-1] else row["group"]
        numbers = (words.reported, words.calibrated, words.interval, change_text(totals, row))
        lines.append((name, f"{row['rows']:,}", *numbers))
    left = len(groups) - _MOST_GROUPS
    note = f"The {_MOST_GROUPS} largest groups of {len(groups)}." if left > 0 else ""
    if fit.why_left_alone:
        note = f"{note} Left as reported: calibrated equals reported, and has no interval.".strip()
    return heads, tuple(lines), f"{totals.statistic.capitalize()} of {fit.roles.outcome}. {note}".strip()


def _rests_on(fit: Fit) -> tuple[str, ...]:
    way = "too high" if fit.settings.direction == "over" else "too low"
    points = [
        "The proxies never saw the report: whoever made them did not know it, nor what it depends on.",
        "The environment may act on the true value, but on the proxies only as they follow the true value.",
        f"Biased reports are {way}: that was stated, not found; data cannot tell the two apart.",
    ]
    if fit.roles.reports:
        points = [
            "What all reporters get wrong alike is not seen: it is not in their differences.",
            "Errors of different reporters in the same row have nothing to do with each other.",
            points[-1],
        ]
    if fit.method_fit.details.by_validation:
        points = [
            "The validated rows were chosen without regard to their error, or with the probabilities given.",
            points[-1],
        ]
    wrong = [finding for finding in fit.findings if not finding.ok]
    if not wrong:
        points.append(f"None of {len(fit.findings)} checks of the table and the fit asks for attention.")
    elif helps(fit):
        points.append(f"{len(wrong)} of {len(fit.findings)} checks ask for attention; see what would help.")
    else:
        points += [f"To look at: {finding.reading}" for finding in wrong[:_MOST_POINTS]]
    return tuple(map(in_dialect, points))


def _would_change(fit: Fit) -> tuple[str, ...]:
    asked = [
        f"{'Tried to refute it and it stood' if answer.ok else 'A refutation succeeded'}: {answer.reading}"
        for answer in refutations(fit)
    ]
    points = [item.text for item in helps(fit)[:_MOST_POINTS]]
    if not points and fit.roles.reports:
        points = [
            "A source that reporters have in common: what it gets wrong, they all get wrong.",
            "A third report would tell which of two is wrong.",
        ]
    if not points and not fit.roles.reports:
        points = [
            "A proxy that saw the report, or was made from it, would make the bias look smaller than it is.",
            "True values of about 50 rows would measure the bias directly: `plan_audit` chooses the rows.",
        ]
        if not refutations(fit):
            points.append("Nobody has tried to refute this answer yet: refute('leak'), refute('placebo').")
    return tuple(map(in_dialect, [*asked, *points]))
