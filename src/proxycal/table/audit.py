"""Checks of a table before any fit; every answer names the column, the count and the first rows.

`audit` never stops at the first problem; what would make a fit impossible is refused by `require`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from proxycal.errors import TableError
from proxycal.result import Finding
from proxycal.table import questions, skew, small_counts, weighting
from proxycal.table.audited import AuditTable
from proxycal.table.columns import code_hashables, read_column, read_plain
from proxycal.table.frames import to_pandas
from proxycal.table.number_text import number_text
from proxycal.table.outcome_question import outcome
from proxycal.table.reports import outcome_column
from proxycal.table.role_question import proxies
from proxycal.table.total_rows import total_rows_of
from proxycal.table.trusted import trusted
from proxycal.table.truths import truth
from proxycal.table.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from proxycal.settings import Settings
    from proxycal.table.audited import Trouble
    from proxycal.table.roles import Roles

_SHOWN_COLUMNS = 10
# Questions about roles that a table need not have, and those of them that ask about numbers.
_OPTIONAL = ("weights", "counts", "cluster", "truth", "trusted", "id")
_NUMBERS = ("weights", "counts", "truth")
# Questions of the log scale alone.
_OF_LOGS = ("negative", "small-counts")


@dataclass(frozen=True, slots=True)
class _Question:
    topic: str
    text: str
    clean: str
    ask: Callable[[AuditTable], list[Trouble]]


_QUESTIONS = (
    _Question(
        "rows", "Are there enough rows?", "There are enough rows for this many columns.", questions.few_rows
    ),
    _Question(
        "totals",
        "Are there rows that are totals of other rows?",
        "No row is a total of other rows.",
        questions.totals,
    ),
    _Question("missing", "Are there missing values?", "No column has missing values.", questions.missing),
    _Question("infinite", "Are there infinite values?", "All numbers are finite.", questions.infinite),
    _Question(
        "numeric",
        "Does every column have the type its role needs?",
        "Every column has the type that its role needs.",
        questions.not_numeric,
    ),
    _Question(
        "levels",
        "Does every category have enough rows?",
        "Every level of every category has enough rows.",
        questions.levels,
    ),
    _Question("constant", "Does every column vary?", "Every column varies.", questions.constant),
    _Question(
        "duplicated", "Are there duplicate columns?", "No two columns are the same.", questions.duplicated
    ),
    _Question(
        "collinear",
        "Do columns nearly determine each other?",
        "No columns nearly determine each other.",
        questions.collinear,
    ),
    _Question(
        "copy", "Is a column a copy of the outcome?", "No column is a copy of the outcome.", questions.copy
    ),
    _Question(
        "role",
        "Is a proxy something that drives who reports?",
        "No proxy reads like something that drives who reports, or like another report.",
        proxies,
    ),
    _Question(
        "skew",
        "Do values span several decades?",
        "No column is so skewed that a few rows decide the result.",
        skew.skewed,
    ),
    _Question(
        "negative",
        "Is the outcome 0 or more?",
        "The outcome is 0 or more, as a bias that is a factor needs.",
        skew.negative,
    ),
    _Question(
        "small-counts",
        "Is the outcome no small count?",
        "The outcome is no count of which a good part is small, which the log scale cannot take.",
        small_counts.small_counts,
    ),
    _Question(
        "atom",
        "Do many rows share one outcome value?",
        "No outcome value is shared by many rows.",
        questions.atom,
    ),
    _Question(
        "outcome",
        "What kind of number is the outcome?",
        "The outcome is a continuous measurement: no rounding, limit or heaping that matters.",
        outcome,
    ),
    _Question(
        "weights",
        "Are the weights usable?",
        "All weights are above 0 and none dominates.",
        weighting.weights,
    ),
    _Question(
        "counts",
        "Are the counts usable?",
        "All counts are whole numbers of at least 1.",
        weighting.counts,
    ),
    _Question(
        "cluster",
        "Are there enough clusters?",
        "There are enough clusters for intervals.",
        questions.cluster,
    ),
    _Question(
        "truth",
        "Are the validated rows usable?",
        "There are enough validated rows to learn from, in the units of the outcome.",
        truth,
    ),
    _Question(
        "trusted",
        "Are the trusted rows usable?",
        "Enough rows are marked as trusted, and not all of them.",
        trusted,
    ),
    _Question("id", "Does the id identify each row?", "Every row has an id of its own.", questions.id),
    _Question(
        "scale",
        "Are the numbers of a plausible size?",
        "All numbers are of a plausible size.",
        questions.scale,
    ),
)


# What is asked of a table before any fit.
TOPICS = frozenset(question.topic for question in _QUESTIONS)


def audit(frame: Any, roles: Roles, settings: Settings | None = None) -> list[Finding]:
    """Check a table before a fit: missing values, constant columns, duplicates, near-copies of the outcome.

    Parameters
    ----------
    frame : pandas or polars DataFrame
        The table.
    roles : Roles
        Which column is what.
    settings : Settings, default None
        What a fit is asked to do, if that is known: scale and log_proxies decide what is a problem.

    Returns
    -------
    list of Finding
        One or more for every question; `ok` is False where the reader should act.

    Examples
    --------
    >>> import pandas as pd
    >>> from proxycal.table.roles import Roles
    >>> table = pd.DataFrame({"y": range(40), "p": range(40), "e": [0, 1] * 20})
    >>> [finding.topic for finding in audit(table, Roles("y", ["p"], ["e"])) if not finding.ok]
    ['copy']

    """
    table = _read(frame, roles, settings)
    asked = [q for q in _QUESTIONS if q.topic not in _OPTIONAL or _can_be_asked(table, q.topic)]
    if table.scale != "log":
        asked = [q for q in asked if q.topic not in _OF_LOGS]
    return [finding for question in asked for finding in _answers(table, question)]


def advised(frame: Any, roles: Roles, settings: Settings, stated: Collection[str] = ()) -> Settings:
    """The settings with the scale and the logarithms that the audit recommends; `stated` ones are kept.

    >>> import numpy as np, pandas as pd
    >>> from proxycal.settings import Settings
    >>> from proxycal.table.roles import Roles
    >>> z = np.random.default_rng(0).normal(size=200)
    >>> table = pd.DataFrame({"y": np.exp(2.0 * z), "p": z, "e": z[::-1]})
    >>> advised(table, Roles("y", ["p"], ["e"]), Settings(direction="under")).scale
    'log'
    """
    as_factor, sizes = skew.advised(_read(frame, roles, settings))
    if as_factor and "scale" not in stated:
        settings = replace(settings, scale="log")
    if sizes and "log_proxies" not in stated:
        settings = replace(settings, log_proxies=(*settings.log_proxies, *sizes))
    return settings


def _can_be_asked(table: AuditTable, role: str) -> bool:
    """Whether the table has a column of an optional role, with numbers where the question is about numbers.

    That text stands where numbers should is said once, under the types of columns.
    """
    name = getattr(table.roles, role)
    if name is None or role not in _NUMBERS:
        return name is not None
    column = table.columns.get(name)
    return column is not None and column.numbers is not None


def _read(frame: Any, roles: Roles, settings: Settings | None) -> AuditTable:
    """Read the columns that can be read; keep the error message of the others."""
    data = to_pandas(frame, roles.columns)
    totals = total_rows_of(frame)
    table = AuditTable(data.index, roles, columns={}, keys={}, unread={}, totals=totals)
    if settings is not None:
        table = replace(
            table,
            scale=settings.scale,
            log_proxies=settings.log_proxies,
            missing=settings.missing,
            total_rows=settings.total_rows,
        )
    plain = read_plain(data, [name for role, name in roles if role not in ("cluster", "id")])
    for role, name in roles:
        try:
            if role in ("cluster", "id"):
                table.keys[name] = code_hashables(data[name], name)[0]
            else:
                table.columns[name] = plain[name] if name in plain else read_column(data[name], name)
        except TableError as error:
            table.unread[name] = str(error)
    names = roles.report_names
    if roles.reports and all(
        name in table.columns and not number_text(table.columns[name]) for name in names
    ):
        numbers = [values for name in names if (values := table.columns[name].as_numbers()) is not None]
        if len(numbers) == len(names):
            table.columns[roles.outcome] = outcome_column(roles, np.column_stack(numbers))
    return table


def _answers(table: AuditTable, question: _Question) -> list[Finding]:
    """The troubles found, at most _SHOWN_COLUMNS of them one by one; a clean answer if there are none."""
    troubles = question.ask(table)
    topic, text = question.topic, question.text
    if not troubles:
        size = f"{counted(table.n, 'row')}, {counted(len(table.roles.columns), 'column')}"
        return [Finding(text, size, question.clean, "Nothing to do.", ok=True, topic=topic, value=0.0)]
    shown, more = troubles[:_SHOWN_COLUMNS], troubles[_SHOWN_COLUMNS:]
    findings = [
        Finding(text, t.statistic, t.reading, t.remedy, t.ok, topic, t.value, t.must_fix) for t in shown
    ]
    if more:
        count = f"{len(more)} more of the same"
        must_fix = any(t.must_fix for t in more)
        findings.append(
            Finding(text, count, more[0].reading, more[0].remedy, False, topic, float(len(more)), must_fix)
        )
    return findings
