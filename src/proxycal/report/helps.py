"""What would help where the data do not answer, and what size of bias they would have shown."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proxycal.report.numbers import sized
from proxycal.report.shell import asked_settings, role_options, setting_options, shell

if TYPE_CHECKING:
    from proxycal.result import Finding, Fit

# A bias of this many standard errors is told from none in nine tables of ten, at 95%.
_STANDARD_ERRORS = 3.24
_AUDITED = 50
# Findings whose remedy is another choice of columns or scale, which costs nothing: they go before new data.
_FREE = ("skew", "negative", "copy", "exclusion", "proxies", "columns", "dependence", "collinear")
_MOST = 6
# More rows than this are no advice.
_MOST_ROWS = 1_000_000


@dataclass(frozen=True, slots=True)
class Help:
    """One thing that would help: why and what, and the command to do it ("" where there is none)."""

    text: str
    command: str = ""


def helps(fit: Fit, run: str = "RUN", table: str = "TABLE") -> tuple[Help, ...]:
    """What would help this table, most helpful first; nothing unless the verdict is "not identified"."""
    if fit.verdict != "not identified":
        return ()
    findings = [finding for finding in fit.findings if not finding.ok and finding.remedy]
    free = [finding for finding in findings if finding.topic in _FREE]
    listed = [_from_finding(fit, finding, table) for finding in free]
    listed += _rows(fit)
    listed += _proxies(fit)
    listed += [_from_finding(fit, finding, table) for finding in findings if finding not in free]
    if not fit.roles.reports:
        listed = listed[: _MOST - 2] + _validated(fit, run, table) + _trusted(fit) + _assumed(fit, run, table)
    unique = {item.text: item for item in listed}
    return tuple(unique.values())


def would_be_found(fit: Fit) -> str:
    """What size of bias would have been found, as a sentence; said wherever none was."""
    size = detectable_text(fit)
    if not size:
        return "What size of bias would have been found is not known: `power()` measures it."
    if fit.settings.scale == "log":
        return f"Biased rows that report {size} would have been found in nine tables of ten."
    return f"A bias of {size} in half of the rows would have been found in nine tables of ten like this one."


def detectable_text(fit: Fit) -> str:
    """The size of bias that would have been found in nine tables of ten, "" where it is not known."""
    size = detectable(fit)
    if not math.isfinite(size):
        return ""
    if fit.settings.scale == "log":
        return f"{math.exp(fit.settings.sign * size):.0%} of the truth"
    return sized(size)


def detectable(fit: Fit) -> float:
    """The same as a number, on the scale of the fit."""
    size = fit.method_fit.details.detectable
    return size if math.isfinite(size) else _STANDARD_ERRORS * fit.estimate.se


def _from_finding(fit: Fit, finding: Finding, table: str) -> Help:
    command = ""
    about_outcome = f"column {fit.roles.outcome!r}" in finding.statistic
    if finding.topic == "skew" and about_outcome and fit.settings.scale != "log":
        options = (
            role_options(fit.roles)
            | setting_options(asked_settings(fit))
            | {"--scale": "log", "--out": "run-log"}
        )
        command = shell("proxycal", "fit", table, *(part for option in options.items() for part in option))
    return Help(f"{finding.reading} {finding.remedy}", command)


def _rows(fit: Fit) -> list[Help]:
    rows = fit.method_fit.details.rows_needed
    if not math.isfinite(rows):
        return []
    size, known = fit.estimate.alpha, fit.method_fit.details.detectable
    if 0.0 < size < known:
        # The size that is found falls with the root of the rows.
        rows = max(rows, fit.n * (known / size) ** 2)
    if rows <= fit.n or rows > _MOST_ROWS:
        return []
    more = _rounded(rows - fit.n)
    return [
        Help(
            f"About {more:,} more rows of the same kind ({fit.n:,} now): then a bias of the size that is "
            "estimated here would be found in nine tables of ten."
        )
    ]


def _proxies(fit: Fit) -> list[Help]:
    topics = {finding.topic for finding in fit.findings if not finding.ok}
    if fit.roles.reports:
        return []
    if len(fit.roles.proxies) == 1:
        return [
            Help(
                f"A second proxy of {fit.roles.outcome}, made by another instrument or office than "
                f"{fit.roles.proxies[0]}: the errors of a single proxy cannot be distinguished from content."
            )
        ]
    if topics & {"relevance", "separation", "overlap"}:
        return [
            Help(
                f"A proxy that varies more closely with the true {fit.roles.outcome} than "
                f"{' and '.join(fit.roles.proxies[:3])}: an earlier value of the same rows, a sensor, a "
                "register."
            )
        ]
    return []


def _validated(fit: Fit, run: str, table: str) -> list[Help]:
    if fit.roles.truth is not None:
        return []
    command = shell("proxycal", "audit", run, table, "--n", _AUDITED, "--out", "audit.csv")
    return [
        Help(
            f"The true value of about {_AUDITED} rows (role truth): 30 or more measure the bias directly, "
            "whatever the shape of the data. `plan_audit` chooses the most informative rows.",
            command,
        )
    ]


def _trusted(fit: Fit) -> list[Help]:
    if getattr(fit.roles, "trusted", None) is not None:
        return []
    return [
        Help(
            "A column that marks reports known to be free of the bias, such as those of audited offices "
            "(role trusted)."
        )
    ]


def _assumed(fit: Fit, run: str, table: str) -> list[Help]:
    """Totals for a range that a person can answer for; yes and no have no such totals."""
    if fit.settings.family == "binary":
        return []
    size = ("--reports", "0.6,0.9" if fit.settings.direction == "under" else "1.1,1.6")
    if not fit.settings.factor:
        size = ("--amount", "LOW,HIGH")
    return [
        Help(
            "What you are willing to say yourself, such as how many rows are biased and by how much, from "
            "and to: `band` gives the totals that follow, as an assumption.",
            shell("proxycal", "band", run, table, "--share", "0.1,0.4", *size),
        )
    ]


def _rounded(rows: float) -> int:
    """Two digits are all that such a number knows."""
    step = 10 ** max(int(math.log10(max(rows, 1.0))) - 1, 0)
    return math.ceil(rows / step) * step
