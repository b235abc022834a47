"""What was asked on the page: a role for each column and the settings, as the API takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proxycal.errors import RolesError, SettingsError
from proxycal.settings import Settings
from proxycal.table.roles import LIST_ROLES, ROLE_NAMES, SINGLE_ROLES, Roles

if TYPE_CHECKING:
    from collections.abc import Mapping

# Sizes that power tries, no bias among them, and fits of one attempt to break a fit.
POWER_SIZES, REFITS = 6, 20
_WANTED = {
    "outcome": "give one column the role outcome: the reported number that may be biased",
    "proxies": "give at least one column the role proxy: another measurement of the same thing, "
    "made without the report",
    "environment": "give at least one column the role environment: circumstances that may drive the bias",
}


@dataclass(frozen=True, slots=True)
class Request:
    """Roles, settings, and what to ask of the fit.

    repetitions : how often each size is tried for the power (0: power was not asked for). refute : which
    attempt to break the fit is made, "" for none.
    """

    roles: Roles
    settings: Settings
    repetitions: int = 0
    refute: str = ""

    @property
    def refits(self) -> int:
        """About how many further fits it takes."""
        return POWER_SIZES * self.repetitions + (REFITS if self.refute else 0)

    def to_dict(self) -> dict[str, Any]:
        """The request as plain JSON values."""
        return {
            "roles": self.roles.to_dict(),
            "settings": self.settings.to_dict(),
            "repetitions": self.repetitions,
            "refute": self.refute,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Request:
        """The reverse of `to_dict`."""
        roles, settings = Roles.from_dict(values["roles"]), Settings.from_dict(values["settings"])
        return cls(roles, settings, int(values["repetitions"]), str(values.get("refute", "")))


def roles_from(chosen: Mapping[str, str]) -> Roles:
    """Roles from column -> role; a column without a role has "".

    >>> roles_from({"y": "outcome", "a": "proxies", "b": "environment", "c": ""}).proxies
    ('a',)
    >>> roles_from({"y": "outcome", "z": "outcome"})
    Traceback (most recent call last):
      ...
    proxycal.errors.RolesError: 'y' and 'z' both have the role outcome: keep it for one of them
    """
    by_role = {role: [name for name, given in chosen.items() if given == role] for role in ROLE_NAMES}
    for role in SINGLE_ROLES:
        if len(by_role[role]) > 1:
            first, second = by_role[role][:2]
            raise RolesError(f"'{first}' and '{second}' both have the role {role}: keep it for one of them")
    for role, remedy in _WANTED.items():
        if not by_role[role]:
            raise RolesError(remedy)
    single = {role: by_role[role][0] if by_role[role] else None for role in SINGLE_ROLES}
    return Roles.from_dict({**single, **{role: by_role[role] for role in LIST_ROLES}})


def settings_from(values: Mapping[str, Any]) -> Settings:
    """Settings from the fields of the page: the level in per cent, an empty field as None.

    >>> settings_from({"direction": "over", "level": 90, "seed": 3}).level
    0.9
    """
    fields = dict(values)
    for name, called in (("level", "the confidence level"), ("seed", "the seed")):
        if fields.get(name, 0) is None:
            raise SettingsError(f"{called} is empty: enter a number")
    if "level" in fields:
        fields["level"] = round(fields["level"] / 100, 6)
    if "seed" in fields:
        fields["random_state"] = fields.pop("seed")
    if "log_proxies" in fields:
        # No box ticked is nothing at all.
        fields["log_proxies"] = tuple(fields["log_proxies"] or ())
    return Settings.from_dict(fields)
