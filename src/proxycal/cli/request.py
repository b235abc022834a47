"""What the command line was asked: options, on top of what run.toml says, as roles and settings.

# run.toml
outcome = "loss"
proxies = ["built_to_water", "veg_to_water"]
environment = ["income", "hazard"]
direction = "under"
seed = 1

[paper]
d_z = 3
"""

from __future__ import annotations

import csv
import tomllib
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from proxycal.errors import RolesError, SettingsError, StoreError
from proxycal.reading.options import asked
from proxycal.report.shell import OPTION_NAMES
from proxycal.settings import Settings
from proxycal.table.roles import LIST_ROLES, ROLE_NAMES, Roles

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Request:
    """Roles of the columns, settings of the run, and where to write it (None if not given)."""

    roles: Roles
    settings: Settings
    out: str | None


@dataclass(frozen=True, slots=True)
class Given:
    """Options for roles and settings as they were typed, by name, and the settings file."""

    options: Mapping[str, Any]
    config: Path | None = None

    @property
    def flags(self) -> list[str]:
        """The options that were given, as they are typed.

        >>> Given({"seed": 3}).flags
        ['--seed']
        """
        return [f"--{name}" for name in self.options] + (["--config"] if self.config is not None else [])

    @property
    def stated(self) -> frozenset[str]:
        """The settings and roles that were given, in options or the file, by their names in Python."""
        python = {short: name for name, short in OPTION_NAMES.items()}
        return frozenset(python.get(name, name) for name in self._values())

    @property
    def without_roles(self) -> bool:
        """Whether no role was given, in options or the file."""
        return not self.stated & set(ROLE_NAMES)

    def read(self, out: Path | None = None) -> Request:
        """Roles and settings. Options override the file; what neither gives keeps its default.

        >>> options = {"outcome": "y", "proxies": ["a,b"], "environment": ["c"], "direction": "over"}
        >>> request = Given(options | {"seed": 3}).read()
        >>> request.roles.proxies, request.settings.random_state
        (('a', 'b'), 3)
        """
        return self._request(self._values(), out)

    def read_both(self) -> list[Request]:
        """For what fits nothing: one request if the direction is stated, else one for each direction.

        >>> given = Given({"outcome": "y", "proxies": "a", "environment": "c"})
        >>> [request.settings.direction for request in given.read_both()]
        ['over', 'under']
        """
        values = self._values()
        directions = [values["direction"]] if "direction" in values else ["over", "under"]
        return [self._request({**values, "direction": direction}) for direction in directions]

    def _values(self) -> dict[str, Any]:
        return {**({} if self.config is None else _read_toml(self.config)), **self.options}

    @staticmethod
    def _request(values: dict[str, Any], out: Path | None = None) -> Request:
        if out is not None:
            values["out"] = out
        place = values.pop("out", None)
        if isinstance(values.get("log_proxies"), (str, list)):
            values["log_proxies"] = column_names(values["log_proxies"])
        roles = _roles(values)
        python = {short: name for name, short in OPTION_NAMES.items()}
        if asked().total_rows is not None:
            # What is left in the table stays: those that were to be dropped are gone when it is read.
            values["total_rows"] = "keep"
        settings = Settings.from_dict({python.get(name, name): value for name, value in values.items()})
        return Request(roles, settings, None if place is None else str(place))


def column_names(given: str | Sequence[str]) -> tuple[str, ...]:
    """Column names from `a,b`, from a repeated option, or from a list; quote a name that holds a comma.

    >>> column_names("a, b"), column_names(['"loss, total"', "b"])
    (('a', 'b'), ('loss, total', 'b'))
    """
    lines = [given] if isinstance(given, str) else list(given)
    return tuple(
        name.strip() for row in csv.reader(lines, skipinitialspace=True) for name in row if name.strip()
    )


def _roles(values: dict[str, Any]) -> Roles:
    """Take the roles out of the values."""
    columns: dict[str, Any] = {field.name: values.pop(field.name, None) for field in fields(Roles)}
    outcome = columns["outcome"]
    if isinstance(outcome, str):
        columns["outcome"] = column_names(outcome) or outcome
    several = columns["reports"] or len(columns["outcome"] or ()) > 1
    for role in ("outcome",) if several else ("outcome", "proxies", "environment"):
        if columns[role] is None:
            raise RolesError(f"--{role} is required: pass it, or put it in the --config file")
    for role in LIST_ROLES:
        column = () if columns[role] is None else columns[role]
        if not isinstance(column, (str, list, tuple)):
            raise RolesError(f"{role} = {column!r} must be a list of column names")
        # In a TOML list, read as a tuple, every entry is a whole name, commas included.
        columns[role] = column if isinstance(column, tuple) else column_names(column)
    return Roles(**columns)


def _read_toml(path: Path) -> dict[str, Any]:
    if path.exists() and not path.is_file():
        raise StoreError(f"'{path}' is not an ordinary file: name a TOML text file")
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise StoreError(f"there is no settings file '{path}': check the spelling and the folder") from error
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"'{path}' cannot be read as settings: {error}; name a TOML text file") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(
            f"'{path}' is not valid TOML: {error}; write lines such as level = 0.95"
        ) from error
    if isinstance(values.get("outcome"), str):
        values["outcome"] = [values["outcome"]]
    for role in ("outcome", *LIST_ROLES, "log_proxies"):
        if isinstance(values.get(role), list):
            values[role] = tuple(str(name) for name in values[role])
    return values
