"""The options that say how a table is read, for every command that reads one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Any

import typer

from proxycal.cli.request import column_names
from proxycal.reading.options import Reading, asked, reading_as
from proxycal.report.shell import listed

Command = Callable[..., None]
_READ = ("table", "tables", "file")
_OPTIONS: dict[str, Any] = {
    "sheet": Annotated[
        str | None, typer.Option(help="Sheet of a workbook, by name or number (default: most numbers).")
    ],
    "header_row": Annotated[
        int | None, typer.Option(help="Row of the file with the column names (default: it is found).", min=1)
    ],
    "thousands": Annotated[str | None, typer.Option(help="Sign between thousands, where it is unclear.")],
    "decimal": Annotated[str | None, typer.Option(help="Sign before decimals, where it is unclear.")],
    "missing_values": Annotated[
        list[str] | None, typer.Option(help="Further words for a missing value.", metavar="A,B")
    ],
    "total_rows": Annotated[
        str | None, typer.Option(help="What to do with rows that are totals of others: keep or drop.")
    ],
}


def reads(command: Command) -> Command:
    """The command with the options of reading, where it reads a table; they hold for all that it reads."""
    parameters = inspect.signature(command).parameters
    if not parameters.keys() & set(_READ):
        return command

    @functools.wraps(command)
    def called(**values: Any) -> None:
        said = {name: values.pop(name) for name in _OPTIONS}
        said["missing_values"] = tuple(column_names(said["missing_values"] or ()))
        with reading_as(Reading(**said)):
            command(**values)

    by_name = inspect.Parameter.KEYWORD_ONLY
    shown = [parameter.replace(kind=by_name) for parameter in parameters.values()]
    at = next(
        (k for k, one in enumerate(shown) if one.name in ("config", "quiet", "json_output")), len(shown)
    )
    more = [
        inspect.Parameter(name, by_name, default=None, annotation=kind) for name, kind in _OPTIONS.items()
    ]
    shown[at:at] = more
    # typer reads the signature, and the annotations beside it.
    called.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return called


def reading_options() -> dict[str, str]:
    """What was said of how tables are read, as options, for a command that is printed.

    >>> with reading_as(Reading(header_row=3, missing_values=("-", "x"))):
    ...     reading_options()
    {'--header-row': '3', '--missing-values': '-,x'}
    """
    said = {field.name: getattr(asked(), field.name) for field in fields(Reading)}
    return {
        f"--{name.replace('_', '-')}": listed(value) if isinstance(value, tuple) else str(value)
        for name, value in said.items()
        if value not in (None, ())
    }


def as_read() -> tuple[str, ...]:
    """The same as parts of a command."""
    return tuple(part for option in reading_options().items() for part in option)
