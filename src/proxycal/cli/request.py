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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proxycal.errors import RolesError, SettingsError, StoreError
from proxycal.settings import Settings
from proxycal.table.roles import Roles

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# The method of the command line where nothing else is said: the best one that this release has.
DEFAULT_METHOD = "exact"
# The command line says --seed and --jobs where Python says random_state and n_jobs.
_SHORT = {"seed": "random_state", "jobs": "n_jobs"}
_LISTS = ("proxies", "environment")
_NAMES = ("outcome", "weights", "cluster", "id", "truth")


@dataclass(frozen=True, slots=True)
class Request:
    """Roles of the columns, settings of the run, and where to write it (None if not said)."""

    roles: Roles
    settings: Settings
    out: str | None


def read_request(config: Path | None, options: dict[str, Any]) -> Request:
    """Options that were given win over the file; what neither says keeps its default.

    >>> request = read_request(None, {"outcome": "y", "proxies": ["a,b"], "environment": ["c"], "seed": 3})
    >>> request.roles.proxies, request.settings.random_state
    (('a', 'b'), 3)
    """
    values = _read_toml(config) if config is not None else {}
    values.update({name: value for name, value in options.items() if value not in (None, [], ())})
    out = values.pop("out", None)
    roles = _roles(values)
    return Request(roles, Settings.from_dict(_settings(values)), None if out is None else str(out))


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
    found: dict[str, Any] = {name: values.pop(name, None) for name in (*_NAMES, *_LISTS)}
    for name in ("outcome", *_LISTS):
        if found[name] is None:
            raise RolesError(
                f"no {name} given: pass --{name} with the column {'names' if name in _LISTS else 'name'} "
                "(or put it in the --config file)"
            )
    for name in _LISTS:
        # In a TOML list every entry is one whole name, commas and all.
        whole = isinstance(found[name], tuple)
        if not whole and not isinstance(found[name], (str, list)):
            raise RolesError(f"{name} = {found[name]!r} must be a list of column names")
        found[name] = found[name] if whole else column_names(found[name])
    return Roles(**found)


def _settings(values: dict[str, Any]) -> dict[str, Any]:
    settings = {"method": DEFAULT_METHOD, **values}
    for short, full in _SHORT.items():
        if short in settings:
            settings[full] = settings.pop(short)
    return settings


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise StoreError(f"there is no settings file '{path}': check the spelling and the folder") from error
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"'{path}' cannot be read as settings: {error}; name a TOML text file") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(
            f"'{path}' is not valid TOML: {error}; write lines such as level = 0.95"
        ) from error
    for name in _LISTS:
        if isinstance(values.get(name), list):
            values[name] = tuple(str(one) for one in values[name])
    return values
