"""Names of columns that read like a cause of reporting: who reports, how, and in what circumstances.

Such a column may move with the outcome as much as a proxy does, since the bias follows it: 'rural' with the
losses that rural offices under-report. It is never a second measurement of what was reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

_WORDS = frozenset({
    "age", "sex", "gender", "race", "ethnicity", "pop", "gdp", "region", "hazard", "language", "method",
    "methods", "mode", "form", "channel", "agency", "agencies", "interviewer", "enumerator", "budget",
    "distance", "density", "rucc", "insured", "insurance", "uninsured",
    "ingreso", "ingresos", "renta", "revenu",
})  # fmt: skip
# Long enough to count inside a word as well: "medincome", "nonurban", "populations".
_PARTS = (
    "rural", "urban", "metro", "popul", "inhabitant", "income", "poverty", "depriv", "unemploy", "staff",
    "personnel", "employees", "office", "reporter", "reporting", "capacity", "training", "educat", "school",
    "literacy", "broadband", "internet", "einkommen", "einwohner", "bevölkerung", "población", "personal",
)  # fmt: skip


def cause_in(words: AbstractSet[str], outcome: AbstractSet[str]) -> str:
    """The word of a column's name that speaks of who reports and how, "" if none does.

    outcome : the words in the name of the outcome. What stands in both is what was reported: an earlier
    income is no cause of a reported income.

    >>> cause_in({"pct", "rural"}, {"loss"}), cause_in({"flooded", "area"}, {"loss"})
    ('rural', '')
    >>> cause_in({"income", "register"}, {"reported", "income"})
    ''
    """
    own = sorted(words - outcome)
    return next((word for word in own if word in _WORDS or any(part in word for part in _PARTS)), "")
