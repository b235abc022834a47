"""Commands of the command line as text, ready to paste into a shell."""

from __future__ import annotations

import csv
import io
import re
import shlex
from dataclasses import MISSING, fields, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxycal.result import Fit
    from proxycal.settings import Settings
    from proxycal.table.roles import Roles

# The command line says --seed and --jobs where Python says random_state and n_jobs.
OPTION_NAMES = {"random_state": "seed", "n_jobs": "jobs"}
# Control characters but for line ends and tabs, and invisible marks that change the order of letters.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def shell(*parts: object) -> str:
    """A command, quoted where it has to be.

    >>> shell("proxycal", "fit", "my table.csv")
    "proxycal fit 'my table.csv'"
    """
    return " ".join(shlex.quote(str(part)) for part in parts)


def listed(names: Sequence[str]) -> str:
    """Column names as one option value; a name that holds a comma or a quote is quoted.

    >>> listed(["a", "loss, total"])
    'a,"loss, total"'
    """
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def role_options(roles: Roles) -> dict[str, str]:
    """The roles as options of `proxycal fit`, by name.

    >>> from proxycal.table.roles import Roles
    >>> role_options(Roles("loss", ["a", "b"], ["c"], id="county"))
    {'--outcome': 'loss', '--proxies': 'a,b', '--environment': 'c', '--id': 'county'}
    >>> role_options(Roles(["own", "register"]))
    {'--outcome': 'own,register'}
    """
    columns = {field.name: getattr(roles, field.name) for field in fields(roles) if field.name != "reports"}
    columns["outcome"] = roles.report_names
    return {
        f"--{role}": column if isinstance(column, str) else listed(column)
        for role, column in columns.items()
        if column is not None and len(column)
    }


def changed(settings: Settings) -> dict[str, object]:
    """The settings that are not the defaults, by their names in Python; the direction has none."""
    return {
        field.name: value
        for field in fields(settings)
        if field.default is not MISSING and (value := getattr(settings, field.name)) != field.default
    }


def setting_options(settings: Settings) -> dict[str, str]:
    """The settings that are not the defaults as options of `proxycal fit`, by name.

    >>> from proxycal.settings import Settings
    >>> setting_options(Settings(direction="under", log_proxies=("a", "b"), random_state=3))
    {'--direction': 'under', '--log-proxies': 'a,b', '--seed': '3'}
    """
    return {
        f"--{OPTION_NAMES.get(name, name).replace('_', '-')}": (
            listed(value) if isinstance(value, tuple) else str(value)
        )
        for name, value in changed(settings).items()
    }


def asked_settings(fit: Fit) -> Settings:
    """The settings as they were asked for, before the data chose a method: what another fit is told."""
    return replace(fit.settings, method=fit.asked_method or fit.settings.method)


def visible(text: str) -> str:
    r"""The text with what a terminal would obey, not show, written out: escape codes, and marks that reorder.

    >>> visible("a\x1b[2Jb\n")
    'a\\x1b[2Jb\n'
    """
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def unseen_as_json(text: str) -> str:
    r"""The same for a text that is JSON, in its notation.

    >>> unseen_as_json('"\x7f"')
    '"\\u007f"'
    """
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
