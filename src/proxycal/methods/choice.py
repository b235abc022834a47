"""Which method fits a table: by what was asked, by the kind of its outcome, by its validated rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from proxycal.errors import SettingsError, TableError
from proxycal.methods.parts import outcome_of
from proxycal.methods.registry import METHODS
from proxycal.result import Finding
from proxycal.table.family import recognised
from proxycal.table.surface import choose

if TYPE_CHECKING:
    import numpy as np

    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays
    from proxycal.table.family import Recognised

# Methods that leave the kind of outcome open, so that another may take their place.
OPEN = ("auto", "exact")
# The family of the method for several reports of one truth, which `family` does not name: the roles say so.
REPORTS = "reports"


@dataclass(frozen=True, slots=True)
class Choice:
    """The name of a method, and what to say of the kind of outcome that it takes the table to have."""

    method: str
    findings: tuple[Finding, ...] = ()


def choose_method(settings: Settings, arrays: Arrays, name: str, validated: int) -> Choice:
    """The method for a table whose outcome is the column `name`, with so many validated rows."""
    asked = METHODS[settings.method]
    if arrays.reports is not None or asked.family == REPORTS:
        return _of_reports(settings, arrays, name)
    family = settings.family if settings.family != "auto" else asked.family
    if settings.method not in OPEN and family != asked.family:
        raise SettingsError(
            f"method='{settings.method}' is for family='{asked.family}', not '{settings.family}': leave one "
            "of them "
            "out"
        )
    y = outcome_of(arrays)
    seen = recognised(y, name)
    usual = asked.choose(validated)
    if settings.family == "auto" and settings.method == "auto" and usual == "exact" and _may_change(settings):
        # Nothing but a count is in proportion to an exposure.
        family = seen.family if arrays.exposure is None else "counts"
    if family == "normal":
        _refuse_roles(arrays)
        return Choice(usual, _left(seen, settings))
    _require(family, settings, y, name)
    method = usual if asked.family != "normal" else family
    return Choice(method, (_taken(family, seen, settings, y),))


def _of_reports(settings: Settings, arrays: Arrays, name: str) -> Choice:
    """The method for several reports of one truth, and what goes with it."""
    if arrays.reports is None:
        raise SettingsError(
            f"method='{settings.method}' needs several reports of the same truth, and the outcome is column "
            f"'{name}' alone: name them all in the role outcome, or use method='auto'"
        )
    other = settings.method not in OPEN and METHODS[settings.method].family != REPORTS
    for wrong, what in (
        (other, f"method='{settings.method}'"),
        (settings.family not in ("auto", "normal"), f"family='{settings.family}'"),
        (settings.scale == "log", "scale='log'"),
        (settings.effect != "constant", f"effect='{settings.effect}'"),
        (settings.interval != "sandwich", f"interval='{settings.interval}'"),
        (settings.exclusion, "exclusion=True"),
    ):
        if wrong:
            more = "; take the logarithm of the columns yourself" if "log" in what else ""
            raise SettingsError(
                f"{what} is for a single outcome, not for several reports: leave it out{more}"
            )
    return Choice("reporters")


def _refuse_roles(arrays: Arrays) -> None:
    """Raise where a role is given that a measured number has no use for."""
    for role, values, of in (
        ("exposure", arrays.exposure, "counts"),
        ("checked", arrays.checked, "counts or yes/no outcomes"),
    ):
        if values is not None:
            raise SettingsError(
                f"the role {role} is for {of}, and the outcome is taken as a measured number: "
                f"{choose('family', 'counts')}, or leave the role out"
            )


def _may_change(settings: Settings) -> bool:
    """Whether nothing was asked for that belongs to measured numbers."""
    return settings.scale == "linear" and settings.effect == "constant" and settings.interval == "sandwich"


def _require(family: str, settings: Settings, y: np.ndarray, name: str) -> None:
    if settings.scale == "log":
        raise SettingsError(
            f"scale='log' is for family='normal': of {'counts' if family == 'counts' else 'yes and no'} the "
            "bias is "
            "a share already; leave the scale out"
        )
    if settings.effect != "constant":
        raise SettingsError(
            f"effect='{settings.effect}' is for family='normal': leave it out; what is reported may vary "
            "with the "
            "environment in any case"
        )
    if family == "counts" and not ((y >= 0.0) & (y == y.round())).all():
        raise TableError(
            f"column '{name}' (outcome) holds values that are no counts: family='counts' needs whole "
            "numbers of at "
            f"least 0; correct them or {choose('family', 'normal')}"
        )
    if family == "binary" and not ((y == 0.0) | (y == 1.0)).all():
        raise TableError(
            f"column '{name}' (outcome) holds more than 0 and 1: family='binary' needs yes and no, True and "
            "False "
            f"or 0 and 1; recode it or {choose('family', 'normal')}"
        )


def _taken(family: str, seen: Recognised, settings: Settings, y: np.ndarray) -> Finding:
    what = (
        "counts, of which a share is reported"
        if family == "counts"
        else "yes and no, some of which is denied"
    )
    if settings.direction == "over":
        what = (
            "counts, of which a share is true"
            if family == "counts"
            else "yes and no, some of which is claimed"
        )
    asked = settings.family == family or settings.method == family
    why = "as family or method says" if asked else f"because {seen.why}"
    return Finding(
        question="What kind of outcome is it?",
        statistic=f"{family}: mean {y.mean():.3g}, largest {y.max():g}",
        reading=f"The outcome is taken as {what}, {why}.",
        remedy="Nothing to do."
        if asked
        else f"If it is a measured number or a score, {choose('family', 'normal')}.",
        ok=True,
        topic="family",
    )


def _left(seen: Recognised, settings: Settings) -> tuple[Finding, ...]:
    """A word on an outcome that was not taken for what it looks like."""
    if seen.family == "normal" or settings.family == "normal" or settings.method not in OPEN:
        return ()
    return (
        Finding(
            question="What kind of outcome is it?",
            statistic=f"normal, though it looks like {seen.family}",
            reading=f"The outcome is taken as a measured number, though {seen.why}.",
            remedy=f"To take it as {seen.family}, {choose('family', seen.family)}.",
            ok=True,
            topic="family",
        ),
    )
