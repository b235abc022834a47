"""What the audit says of a role that would hurt: a proxy that speaks of the reporter, or was reported too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxycal.table.audited import Trouble
from proxycal.table.causes import cause_in
from proxycal.table.guess import REPORTED, words_of
from proxycal.table.wording import shown

if TYPE_CHECKING:
    from proxycal.table.audited import AuditTable


def proxies(table: AuditTable) -> list[Trouble]:
    """Proxies whose names say that they are none; a name is a hint, so none of them must be fixed."""
    troubles = []
    outcome = words_of(table.roles.outcome)
    for name in table.roles.proxies:
        words = words_of(name)
        if cause := cause_in(words, outcome):
            statistic = f"column {shown(name)} (proxies): '{cause}' in its name"
            reading = (
                f"{shown(name)} reads like something that drives who reports and how, so it belongs to the "
                "environment: a proxy that moves with the bias hides it."
            )
            same = f"unless it measures the same as {shown(table.roles.outcome)}"
            remedy = f"Give {shown(name)} the role environment, {same}."
        elif said := sorted(words & REPORTED - outcome):
            statistic = f"column {shown(name)} (proxies): '{said[0]}' in its name"
            reading = (
                f"{shown(name)} reads like another report, which may have the same bias and would hide it."
            )
            remedy = f"Leave {shown(name)} out, unless somebody else measured it."
        else:
            continue
        troubles.append(Trouble(statistic, reading, remedy, 1.0))
    return troubles
