"""Two fits side by side: what was asked of each, what each found, and where they differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proxycal.report.numbers import percent, size_text
from proxycal.report.summary import formula, options

if TYPE_CHECKING:
    from proxycal.result import Fit


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that two fits do not share: the part of the fit, what it is, and both values as text.

    part : "asked", "found", "findings" or "versions".
    """

    part: str
    what: str
    first: str
    second: str

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"part": self.part, "what": self.what, "first": self.first, "second": self.second}


def differences(first: Fit, second: Fit) -> list[Difference]:
    """What differs, in the order in which a reader would ask; nothing where the two say the same."""
    listed: list[Difference] = []
    for part, both in (
        ("asked", (_asked(first), _asked(second))),
        ("found", (_found(first), _found(second))),
        ("findings", (_findings(first), _findings(second))),
        ("versions", (first.versions, second.versions)),
    ):
        names = list(dict.fromkeys([*both[0], *both[1]]))
        values = [(name, *(side.get(name, "-") for side in both)) for name in names]
        listed += [Difference(part, name, one, other) for name, one, other in values if one != other]
    return listed


def _asked(fit: Fit) -> dict[str, str]:
    asked = {"formula": formula(fit), "direction": fit.settings.direction, "method": fit.settings.method}
    roles = {role: column for role, column in fit.roles if role not in ("outcome", "proxies", "environment")}
    plain = {"level": f"{fit.settings.level:g}", "seed": str(fit.settings.random_state)}
    return asked | roles | plain | {"rows": f"{fit.n:,}"} | options(fit)


def _found(fit: Fit) -> dict[str, str]:
    found = {"verdict": fit.verdict, "share of biased rows": percent(fit.share_biased)}
    for row in fit.estimates:
        text = size_text(row)
        found[f"size, {row.name}"] = f"{text.size} ({text.interval})"
    for totals in fit.totals:
        for group in totals.records():
            by = f" of {totals.by}={group['group']}" if totals.by and group["group"] != "overall" else ""
            if by or totals.by is None:
                found[f"{totals.statistic}{by}"] = f"{group['calibrated']:.6g}"
    return found


def _findings(fit: Fit) -> dict[str, str]:
    return {
        finding.question: f"{'ok' if finding.ok else 'look'}: {finding.statistic}" for finding in fit.findings
    }
