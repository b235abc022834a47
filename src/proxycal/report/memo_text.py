"""What a memo about a fit says: the question, the answer, what it rests on, what would change it.

English has every detail of the fit. Other languages have what stands in their file of words, and send the
reader to the report for findings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proxycal.questions.certainty import AUDITED, certainty
from proxycal.report.helps import helps
from proxycal.report.numbers import percent, size_text, total_text
from proxycal.report.plots import main_plot
from proxycal.report.plots.totals import PLOT as TOTALS
from proxycal.report.plots.totals import shown_totals
from proxycal.report.summary import (
    change_text,
    cite,
    facts,
    formula,
    headline,
    ratio_between,
    ratio_text,
    refutations,
    unseen,
)
from proxycal.report.wording import words
from proxycal.table.surface import in_dialect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxycal.report.plots.plot import Plot
    from proxycal.report.wording import Words
    from proxycal.result import Fit

# A memo is one to two pages: the largest groups, and the first of a longer list.
_MOST_GROUPS, _MOST_POINTS, _MOST_NAMES = 12, 4, 8
PAPER = "Vishnubhatla, Wan, Harrison, Raglin and Liu, Proxy-Guided Measurement Calibration."


@dataclass(frozen=True, slots=True)
class Memo:
    """The text of a memo, in its order.

    title, asked, answer : sentences. headings : of the five parts. facts : numbers by name. heads, rows :
    the table of totals, rows of text; the last row is all rows; none of a table that was read in pieces.
    note : below the table. rests_on, would_change, cite : a sentence each.
    """

    title: str
    headings: tuple[str, ...]
    asked: str
    answer: str
    facts: tuple[tuple[str, str], ...]
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str
    rests_on: tuple[str, ...]
    would_change: tuple[str, ...]
    cite: tuple[str, ...]


def memo_text(fit: Fit, language: str = "en") -> Memo:
    """The memo about a fit, in a language and in the words of the surface that asks for it."""
    w = words(language)
    heads, rows, note = _table(fit, w)
    direction = w.say(str(fit.settings.direction))
    return Memo(
        title=w.say("title", y=str(fit.roles.outcome), direction=direction),
        headings=tuple(w.say(name) for name in ("h_asked", "h_answer", "h_rests", "h_change", "h_cite")),
        asked=_asked(fit, w),
        answer=answer_text(fit, language),
        facts=facts(fit),
        heads=heads,
        rows=rows,
        note=note,
        rests_on=_rests_on(fit, w),
        would_change=_would_change(fit, w),
        cite=(_cite(fit, w), w.say("formula", formula=formula(fit)), w.say("model", paper=PAPER)),
    )


def memo_plot(fit: Fit) -> Plot:
    """The picture of the memo: totals where a bias was found, else what shows the result best."""
    found = fit.verdict == "bias found" and not TOTALS.lacking(fit)
    return TOTALS if found and len(shown_totals(fit).labels) > 1 else main_plot(fit)


def _way(fit: Fit, w: Words) -> str:
    return w.say("high" if fit.settings.direction == "over" else "low")


def _level(fit: Fit, w: Words) -> str:
    return w.number(f"{fit.settings.level * 100:g}")


def _asked(fit: Fit, w: Words) -> str:
    if fit.roles.reports:
        return w.say(
            "asked_reports",
            reports=_named(fit.roles.report_names, w),
            way=_way(fit, w),
            rows=w.number(f"{fit.n:,}"),
            statistic=w.say(fit.totals[0].statistic if fit.totals else "total"),
        )
    return w.say(
        "asked",
        y=str(fit.roles.outcome),
        way=_way(fit, w),
        rows=w.number(f"{fit.n:,}"),
        statistic=w.say(fit.totals[0].statistic if fit.totals else "total"),
        proxies=_named(fit.roles.proxies, w),
        environment=_named(fit.roles.environment, w),
    )


def _named(names: Sequence[str], w: Words) -> str:
    shown = list(names[:_MOST_NAMES])
    more = len(names) - len(shown)
    listed = [*shown, w.say("more", count=str(more))] if more else shown
    return f" {w.say('and')} ".join(filter(None, [", ".join(listed[:-1]), listed[-1]]))


def answer_text(fit: Fit, language: str = "en") -> str:
    """Two sentences: the bias, and what it does to the total, or what would have been found."""
    w = words(language)
    first = headline(fit) if language == "en" else _headline(fit, w)
    if fit.why_left_alone:
        second = unseen(fit) if language == "en" else ""
        return in_dialect(f"{first} {second or w.say('neither')}")
    if not fit.totals:
        return first
    totals = fit.totals[0]
    overall = totals.records()[-1]
    numbers = total_text(overall)
    statistic = w.say(totals.statistic)
    second = w.say(
        "stated",
        statistic=statistic if language == "en" else statistic.capitalize(),
        y=str(fit.roles.outcome),
        level=_level(fit, w),
        calibrated=w.number(numbers.calibrated),
        interval=w.number(numbers.interval),
        reported=w.number(numbers.reported),
        change=w.number(change_text(totals, overall)),
    )
    return f"{first} {second}"


def _headline(fit: Fit, w: Words) -> str:
    """The result in one sentence of the catalogue, without the details that only English has."""
    values = {"y": str(fit.roles.outcome), "way": _way(fit, w), "level": _level(fit, w)}
    if fit.verdict != "bias found":
        return w.say("none" if fit.verdict == "no bias found" else "unclear", **values)
    values["share"] = w.number(percent(fit.share_biased))
    size = size_text(fit.estimate)
    factor = fit.settings.factor
    interval = ratio_between(fit, fit.estimate) if factor else size.interval
    values["interval"] = w.number(interval)
    values["ratio"] = w.number(ratio_text(fit, fit.estimate).removesuffix(" of the truth"))
    values["size"] = w.number(size.size)
    if fit.method_fit.details.claim and not factor:
        return w.say("found_claim", **values)
    return w.say("found_factor" if factor else "found_amount", **values)


def _table(fit: Fit, w: Words) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...], str]:
    if not fit.totals:
        return (), (), in_dialect(w.say("pieces"))
    totals = shown_totals(fit)
    named = (w.say(name) for name in ("rows", "reported", "calibrated"))
    heads = (totals.by or "", *named, w.say("interval", level=_level(fit, w)), w.say("change"))
    records = totals.records()
    groups = sorted(records[:-1], key=lambda row: -abs(row["calibrated"]))
    lines = []
    for row in [*groups[:_MOST_GROUPS], records[-1]]:
        text = total_text(row)
        name = w.say("all") if row is records[-1] else row["group"]
        numbers = (text.reported, text.calibrated, text.interval, change_text(totals, row))
        lines.append((name, w.number(f"{row['rows']:,}"), *map(w.number, numbers)))
    notes = [w.say("of", statistic=w.say(totals.statistic).capitalize(), y=str(fit.roles.outcome))]
    if len(groups) > _MOST_GROUPS:
        notes.append(w.say("largest", shown=str(_MOST_GROUPS), groups=str(len(groups))))
    if fit.why_left_alone:
        notes.append(w.say("left"))
    return heads, tuple(lines), " ".join(notes)


def _rests_on(fit: Fit, w: Words) -> tuple[str, ...]:
    direction = w.say("rests_direction", way=_way(fit, w))
    points = [w.say("rests_proxies"), w.say("rests_environment"), direction]
    if fit.roles.reports:
        points = [w.say("rests_common"), w.say("rests_apart"), direction]
    if fit.method_fit.details.by_validation:
        points = [w.say("rests_audit"), direction]
    wrong, checks = [finding for finding in fit.findings if not finding.ok], str(len(fit.findings))
    if not wrong:
        points.append(w.say("checks_none", checks=checks))
    elif w.language != "en" or helps(fit):
        points.append(w.say("checks_some", wrong=str(len(wrong)), checks=checks))
    else:
        points += [f"To look at: {finding.reading}" for finding in wrong[:_MOST_POINTS]]
    return tuple(map(in_dialect, points))


def _would_change(fit: Fit, w: Words) -> tuple[str, ...]:
    asked: list[str] = []
    if w.language == "en":
        stood = {True: "Tried to refute it and it stood", False: "A refutation succeeded"}
        asked = [f"{stood[answer.ok]}: {answer.reading}" for answer in refutations(fit)]
    points = _certain(fit, w)
    if w.language == "en" and (listed := helps(fit)):
        return tuple(map(in_dialect, [*asked, *points, *(item.text for item in listed[:_MOST_POINTS])]))
    if fit.roles.reports:
        return tuple(map(in_dialect, [*asked, *points, w.say("source"), w.say("third")]))
    points.append(w.say("leak"))
    if fit.roles.truth is None and not math.isfinite(certainty(fit).audited):
        points.append(w.say("truths", rows=str(AUDITED)))
    if w.language == "en" and not refutations(fit):
        points.append("Nobody has tried to refute this answer yet: refute('leak'), refute('placebo').")
    return tuple(map(in_dialect, [*asked, *points]))


def _certain(fit: Fit, w: Words) -> list[str]:
    """How well the total is known, and would be."""
    known = certainty(fit)

    def within(half: float) -> str:
        return w.number(f"{100.0 * half:.2g}%")

    points = []
    if math.isfinite(known.now):
        points.append(w.say("now", now=within(known.now), twice=within(known.twice)))
    if math.isfinite(known.audited) and not known.supposed:
        points.append(w.say("audit", rows=str(AUDITED), audited=within(known.audited)))
    return points


def _cite(fit: Fit, w: Words) -> str:
    if w.language == "en":
        return in_dialect(cite(fit))
    return w.say(
        "cite",
        answer=_headline(fit, w),
        version=fit.versions.get("proxycal", ""),
        method=fit.settings.method,
        direction=str(fit.settings.direction),
        rows=w.number(f"{fit.n:,}"),
        seed=str(fit.settings.random_state),
    )
