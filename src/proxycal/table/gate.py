"""Whether a table can be fitted as it is: what must be fixed first, what to look at, and with which settings.

A fit decides: a table passes if the encoder, the first thing that a fit does, takes it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from proxycal.errors import TableError
from proxycal.result import Finding
from proxycal.table.audit import advised, audit
from proxycal.table.encode import Encoder
from proxycal.table.total_rows import refuse_total_rows

if TYPE_CHECKING:
    from collections.abc import Collection

    from proxycal.settings import Settings
    from proxycal.table.roles import Roles


@dataclass(frozen=True, slots=True)
class Gate:
    """What stands between a table and its fit.

    must_fix : findings without which no fit is possible. look_at : those to think about. fine : the others.
    ways : the settings with which the table can be fitted: as they were given, but with what the findings
    advise; several where missing values can be treated in several ways and nobody said in which.
    """

    must_fix: tuple[Finding, ...]
    look_at: tuple[Finding, ...]
    fine: tuple[Finding, ...]
    ways: tuple[Settings, ...]

    @property
    def open(self) -> bool:
        """Whether a fit is possible."""
        return not self.must_fix

    @property
    def missing(self) -> tuple[str, ...]:
        """The ways to treat missing values with which the table can be fitted."""
        return tuple(way.missing for way in self.ways)


def gate(frame: Any, roles: Roles, settings: Settings, stated: Collection[str] = ()) -> Gate:
    """Check a table and say with which settings it can be fitted; `stated` are those that stay as they are.

    >>> import pandas as pd
    >>> from proxycal.settings import Settings
    >>> from proxycal.table.roles import Roles
    >>> table = pd.DataFrame({"y": range(40), "p": [None, *range(39)], "e": [0, 1] * 20})
    >>> found = gate(table, Roles("y", ["p"], ["e"]), Settings(direction="over"))
    >>> found.open, found.missing
    (True, ('drop', 'impute'))
    """
    findings = audit(frame, roles, settings)
    ways, refused = _ways(frame, roles, advised(frame, roles, settings, stated))
    if not ways:
        # What is advised may not be possible, such as a logarithm of a truth below 0.
        ways, refused = _ways(frame, roles, settings)
    must_fix = [finding for finding in findings if finding.must_fix] if refused else []
    if refused and not must_fix:
        text = f"{refused[0].upper()}{refused[1:]}."
        must_fix = [Finding("Can the table be fitted?", "", text, "", False, "refused", must_fix=True)]
    others = [replace(finding, must_fix=False) for finding in findings if finding not in must_fix]
    return Gate(
        tuple(must_fix),
        tuple(finding for finding in others if not finding.ok),
        tuple(finding for finding in others if finding.ok),
        ways,
    )


def _ways(frame: Any, roles: Roles, settings: Settings) -> tuple[tuple[Settings, ...], str]:
    """The settings that can fit the table, and where there are none why."""
    refused = _refusal(frame, roles, settings)
    if not refused:
        return (settings,), ""
    if settings.missing != "raise":
        return (), refused
    tried = {missing: replace(settings, missing=missing) for missing in ("drop", "impute")}
    refusals = {missing: _refusal(frame, roles, way) for missing, way in tried.items()}
    ways = tuple(way for missing, way in tried.items() if not refusals[missing])
    return ways, "" if ways else refusals["drop"]


def _refusal(frame: Any, roles: Roles, settings: Settings) -> str:
    """Why a fit would refuse the table, or nothing."""
    try:
        refuse_total_rows(frame, settings.total_rows)
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
