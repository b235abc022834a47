"""Where a message is read: in Python, a shell or the app. Each names rows and options in its own way."""

from __future__ import annotations

import re
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Surface = Literal["python", "shell", "app"]

# What the app calls a choice; its page shows the same words.
APP_CHOICES = {
    ("direction", "over"): "too high",
    ("direction", "under"): "too low",
    ("missing", "raise"): "stop and say where",
    ("missing", "drop"): "leave out incomplete rows",
    ("missing", "impute"): "fill in missing values",
    ("total_rows", "drop"): "leave out the totals",
    ("total_rows", "keep"): "keep them as rows",
    ("method", "exact"): "exact",
    ("scale", "linear"): "the bias is added",
    ("scale", "log"): "the bias is a factor",
}

_surface: ContextVar[Surface] = ContextVar("surface", default="python")


@contextmanager
def speaking(surface: Surface) -> Iterator[None]:
    """Word messages for this surface, for as long as the block lasts.

    >>> with speaking("shell"):
    ...     choose("missing", "drop", "impute")
    'pass --missing drop or --missing impute'
    """
    token = _surface.set(surface)
    try:
        yield
    finally:
        _surface.reset(token)


def in_file() -> bool:
    """Whether the reader has a file open and no data frame."""
    return _surface.get() != "python"


def in_shell() -> bool:
    """Whether the reader types options."""
    return _surface.get() == "shell"


# Questions about a fit, as Python or the shell asks them; the app has a button for each.
_POWER = re.compile(r"`(?:power\(\)|proxycal power(?: RUN)?)`")
_AUDIT = re.compile(r"`?(?:plan_audit|proxycal audit)`?")
_REFUTE = re.compile(r"`?\brefute\('([a-z-]+)'\)`?")
_SETTING = re.compile(
    r"\b(method|missing|scale|effect|interval|direction|log_proxies|statistic)=(?:'([^']*)'|\"([^\"]*)\")"
)


def in_dialect(text: str) -> str:
    """A sentence that names settings as in Python, in the words of this surface.

    >>> in_dialect("fit with missing='impute'")
    "fit with missing='impute'"
    >>> with speaking("shell"):
    ...     in_dialect("Compare with method='exact'.")
    'Compare with --method exact.'
    >>> with speaking("app"):
    ...     in_dialect("fit with missing='impute'")
    'fit with “fill in missing values”'
    >>> with speaking("shell"):
    ...     in_dialect("Validate more rows: plan_audit says which.")
    'Validate more rows: proxycal audit says which.'
    >>> with speaking("app"):
    ...     in_dialect("`plan_audit` chooses the rows.")
    '“Plan an audit” chooses the rows.'
    >>> with speaking("shell"):
    ...     in_dialect("`refute('seed')` compares, `power()` measures.")
    '`proxycal refute RUN --kind seed` compares, `proxycal power RUN` measures.'
    """
    surface = _surface.get()
    if surface == "python":
        return text

    def said(found: re.Match[str]) -> str:
        name, value = found[1], found[2] or found[3]
        if surface == "shell":
            return f"--{name.replace('_', '-')} {value}"
        return f"“{APP_CHOICES.get((name, value), f'{name} {value}')}”"

    text = _SETTING.sub(said, text)
    if surface == "app":
        text = _AUDIT.sub("“Plan an audit”", text).replace("`band`", "“What if”")
        text = _POWER.sub("“Calibrate and compute power”", text)
        return _REFUTE.sub("“Calibrate and try to refute it”", text)
    text = text.replace("plan_audit", "proxycal audit").replace("`band`", "`proxycal band`")
    return _REFUTE.sub(r"`proxycal refute RUN --kind \1`", _POWER.sub("`proxycal power RUN`", text))


def choose(setting: str, *values: str) -> str:
    """The advice to use one of these values of a setting.

    >>> choose("missing", "drop", "impute")
    "pass missing='drop' or 'impute'"
    """
    surface = _surface.get()
    if surface == "python":
        return f"pass {setting}=" + " or ".join(repr(value) for value in values)
    if surface == "shell":
        return "pass " + " or ".join(f"--{setting.replace('_', '-')} {value}" for value in values)
    labels = " or ".join(f"“{APP_CHOICES.get((setting, value), value)}”" for value in values)
    if setting == "total_rows":
        return f"choose {labels} in step 1"
    in_view = setting in ("direction", "scale", "missing")
    return f"choose {labels} {'in step 2' if in_view else 'under More settings'}"


def choose_columns(setting: str, names: Sequence[str]) -> str:
    """The advice to name these columns in a setting.

    >>> choose_columns("log_proxies", ["area", "value"])
    "pass log_proxies=['area', 'value']"
    """
    surface = _surface.get()
    if surface == "python":
        return f"pass {setting}={list(names)!r}"
    if surface == "shell":
        return f"pass --{setting.replace('_', '-')} {','.join(names)}"
    return f"tick {', '.join(f'“{name}”' for name in names)} under More settings"


def convert() -> str:
    """How to turn text into numbers."""
    return "convert it to numbers in the file" if in_file() else "convert it with pandas.to_numeric"
