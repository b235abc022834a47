"""Whether a table can be fitted as it is: what must be fixed first, what to look at, and with which settings.

A fit decides: a table passes if the encoder, the first thing that a fit does, takes it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from proxycal.errors import TableError
from proxycal.result import Finding
from proxycal.table.audit import audit
from proxycal.table.encode import Encoder

if TYPE_CHECKING:
    from proxycal.settings import Settings
    from proxycal.table.roles import Roles


@dataclass(frozen=True, slots=True)
class Gate:
    """What stands between a table and its fit.

    must_fix : findings without which no fit is possible. look_at : those to think about. fine : the others.
    missing : the setting with which the table can be fitted, "drop" where rows must be left out.
    """

    must_fix: tuple[Finding, ...]
    look_at: tuple[Finding, ...]
    fine: tuple[Finding, ...]
    missing: str

    @property
    def open(self) -> bool:
        """Whether a fit is possible."""
        return not self.must_fix


def gate(frame: Any, roles: Roles, settings: Settings) -> Gate:
    """Check a table and say whether these settings can fit it.

    Where nobody said what to do with missing values, leaving out their rows is tried.

    >>> import pandas as pd
    >>> from proxycal.settings import Settings
    >>> from proxycal.table.roles import Roles
    >>> table = pd.DataFrame({"y": range(40), "p": [None, *range(39)], "e": [0, 1] * 20})
    >>> found = gate(table, Roles("y", ["p"], ["e"]), Settings(direction="over"))
    >>> found.open, found.missing
    (True, 'drop')
    """
    findings = audit(frame, roles, settings)
    refused = _refusal(frame, roles, settings)
    if refused and settings.missing == "raise":
        dropping = replace(settings, missing="drop")
        if not (why := _refusal(frame, roles, dropping)):
            settings = dropping
        refused = why
    must_fix = [finding for finding in findings if finding.must_fix] if refused else []
    if refused and not must_fix:
        text = f"{refused[0].upper()}{refused[1:]}."
        must_fix = [Finding("Can the table be fitted?", "", text, "", False, "refused", must_fix=True)]
    others = [replace(finding, must_fix=False) for finding in findings if finding not in must_fix]
    return Gate(
        tuple(must_fix),
        tuple(finding for finding in others if not finding.ok),
        tuple(finding for finding in others if finding.ok),
        settings.missing,
    )


def _refusal(frame: Any, roles: Roles, settings: Settings) -> str:
    """Why a fit would refuse the table, or nothing."""
    try:
        Encoder.fit(
            frame,
            roles,
            settings.missing,  # type: ignore[arg-type]
            settings.scale,
            settings.log_proxies,
        )
    except TableError as error:
        return str(error)
    return ""
