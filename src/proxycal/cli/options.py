"""The options that commands share, each spelled once.

Options for roles and settings are generated from the fields of `Roles`, which have their help, and of
`Settings`, whose help is written here. A command that `takes` them gets what was typed as its argument
`given`.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from proxycal.cli.console import keep_notes_back
from proxycal.cli.request import Given
from proxycal.report.shell import OPTION_NAMES
from proxycal.settings import Settings
from proxycal.table.roles import LIST_ROLES, Roles

Table = Annotated[
    Path, typer.Argument(metavar="TABLE", help="CSV, TSV, Excel or Parquet file.", show_default=False)
]
Tables = Annotated[
    list[Path],
    typer.Argument(metavar="TABLE...", help="CSV, TSV, Excel or Parquet files.", show_default=False),
]
Run = Annotated[
    Path, typer.Argument(metavar="RUN", help="Run folder written by `proxycal fit`.", show_default=False)
]
Workers = Annotated[int | None, typer.Option("--jobs", help="Number of processes (default: all cores).")]
EngineName = Annotated[str, typer.Option("--engine", help="joblib or dask.")]
Scheduler = Annotated[str | None, typer.Option(help="Address of a Dask scheduler.")]
Resume = Annotated[bool, typer.Option("--resume", help="Resume an interrupted run.")]
Seed = Annotated[int, typer.Option(help="Random seed; the same seed gives the same result.")]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Print nothing but errors and warnings.", callback=keep_notes_back),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
SafeCsv = Annotated[
    bool, typer.Option("--safe-csv", help="Put ' before text that a spreadsheet would run as a formula.")
]
Config = Annotated[Path | None, typer.Option(help="TOML file with defaults for these options.")]

# Help of the generated options; {choices} are those of the setting. One line for each setting.
_HELP = {
    "method": "Estimator: {choices}.",
    "direction": "Direction of the bias, required for a fit: {choices}.",
    "scale": "Whether the bias is added to the outcome or multiplies it: {choices}.",
    "family": "Kind of outcome: {choices}.",
    "exclusion": "State that the environment acts on the truth only through content.",
    "log_proxies": "Proxies to use as logarithms, such as areas or amounts of money.",
    "effect": "How the size of the bias may vary: {choices}.",
    "level": "Level of the intervals, such as 0.95.",
    "interval": "How standard errors are computed: {choices}.",
    "missing": "What to do with missing values: {choices}.",
    "random_state": "Random seed; the same seed gives the same result.",
    "n_jobs": "Number of processes; the result does not depend on it.",
}

Command = Callable[..., None]


def _option(name: str, kind: Any, **words: Any) -> inspect.Parameter:
    called = OPTION_NAMES.get(name, name)
    annotation = Annotated[kind | None, typer.Option(f"--{called.replace('_', '-')}", **words)]
    return inspect.Parameter(called, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _role_option(role: dataclasses.Field[Any]) -> inspect.Parameter:
    if role.name in LIST_ROLES:
        return _option(role.name, list[str], help=role.metadata["option"], metavar="A,B")
    return _option(role.name, str, help=role.metadata["option"])


def _setting_option(field: dataclasses.Field[Any]) -> inspect.Parameter:
    kind = field.metadata.get("kind", str)
    if kind is tuple:
        return _option(field.name, list[str], help=_HELP[field.name], metavar="A,B")
    return _option(field.name, kind, help=_HELP[field.name].format(choices=_choices(field.metadata)))


def _choices(rule: Any) -> str:
    """The allowed values in words: "constant, linear or by:COLUMN"."""
    names = list(rule.get("allowed", ()))
    if rule.get("prefix"):
        names.append(rule["prefix"] + rule["placeholder"])
    return " or ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


ROLES = tuple(_role_option(role) for role in dataclasses.fields(Roles))
# A section of settings (a field made by a factory) is for the settings file.
SETTINGS = tuple(
    _setting_option(field)
    for field in dataclasses.fields(Settings)
    if field.default_factory is dataclasses.MISSING and field.name != "total_rows"
)


def takes(*families: tuple[inspect.Parameter, ...]) -> Callable[[Command], Command]:
    """Give a command the options of ROLES or SETTINGS, and --config, in place of its argument `given`.

    An option that the command declares itself is its own.
    """

    def decorate(command: Command) -> Command:
        hints = get_type_hints(command, include_extras=True)
        own = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[parameter.name])
            for parameter in inspect.signature(command).parameters.values()
        ]
        names = {parameter.name for parameter in own}
        generated = [option for family in families for option in family if option.name not in names]
        generated.append(
            inspect.Parameter("config", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Config)
        )

        @functools.wraps(command)
        def called(**values: Any) -> None:
            typed = {option.name: values.pop(option.name) for option in generated}
            config = typed.pop("config")
            options = {name: value for name, value in typed.items() if value not in (None, [], ())}
            command(**values, given=Given(options, config))

        at = [parameter.name for parameter in own].index("given")
        parameters = [*own[:at], *generated, *own[at + 1 :]]
        # typer reads the signature, and the annotations beside it.
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return called

    return decorate
