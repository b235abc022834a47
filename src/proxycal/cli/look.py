"""`proxycal look`: what was understood of a file, before any role is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxycal.cli import console
from proxycal.cli.options import Json, Quiet
from proxycal.cli.reading import reading_options
from proxycal.reading.options import asked, reading_as
from proxycal.report.shell import listed, shell, visible
from proxycal.table.roles import LIST_ROLES, ROLE_NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxycal.reading.look import Looked, LookedColumn

File = Annotated[
    Path, typer.Argument(metavar="FILE", help="CSV, TSV, Excel or Parquet file.", show_default=False)
]


def look(file: File, quiet: Quiet = False, json_output: Json = False) -> None:
    """Show what is understood of a file: its layout, its columns, and a first guess at their roles."""
    from proxycal.reading.look import look_file

    found = look_file(file)
    if json_output:
        console.print_json({**found.to_dict(), "next": list(next_checks(file, found).values())})
    elif not quiet:
        show(file, found)


def show(file: Path, found: Looked) -> None:
    """Print what was understood, and the check to run next with the roles that were guessed."""
    console.say(f"{file}: {found.rows:,} rows, {len(found.columns)} columns")
    if len(found.sheets) > 1:
        for sheet in found.sheets:
            what = "read" if sheet.name == found.sheet else "hidden" if sheet.hidden else "not read"
            console.say(f"  sheet '{sheet.name}': {sheet.rows:,} rows, {sheet.columns} columns, {what}")
    if found.understood:
        console.say(f"understood: {found.understood}")
    if found.totals:
        console.say(f"{found.totals}; below they are left out")
    console.say("")
    _show_columns(found.columns)
    console.say("", *_wanting(found))
    if len(found.sheets) > 1:
        console.say("another sheet: --sheet NAME")
    console.say_choice(next_checks(file, found), "what the totals are")


def _show_columns(columns: Sequence[LookedColumn]) -> None:
    """A line for each column with what it holds, then the role each may have, with the reason."""
    from rich.table import Table
    from rich.text import Text

    from proxycal.report.terminal import output

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("column", "holds", "values", "missing", "such as"):
        table.add_column(name, justify="right" if name == "missing" else "left")
    for column in columns:
        kind = f"{column.kind} ({column.unit})" if column.unit else column.kind
        cells = (column.name, kind, column.span, f"{column.missing:,}", column.example)
        table.add_row(*(Text(visible(cell)) for cell in cells))
    output().print(table)
    console.say("", "guessed roles:")
    for column in columns:
        console.say(f"  {column.role or 'not used'}: {column.name} ({column.why})")


def next_checks(file: Path, found: Looked) -> dict[str, str]:
    """The check to run next, with the roles that were guessed; one for each way to treat totals."""
    roles = {role: [column.name for column in found.columns if column.role == role] for role in ROLE_NAMES}
    asked_for = {
        f"--{role}": listed(names) if role in LIST_ROLES else listed(names[:1])
        for role, names in roles.items()
        if names
    }
    for role, placeholder in (("outcome", "COLUMN"), ("proxies", "A,B"), ("environment", "C,D")):
        asked_for.setdefault(f"--{role}", placeholder)
    ways: dict[str, str | None] = {"": None}
    if found.totals:
        ways = {"to leave out the totals": "drop", "to keep them as rows": "keep"}
    commands = {}
    for case, total_rows in ways.items():
        with reading_as(asked() if total_rows is None else replace(asked(), total_rows=total_rows)):
            options = {**asked_for, **reading_options()}
        parts = (part for option in options.items() for part in option)
        commands[case] = shell("proxycal", "check", file, *parts)
    return commands


def _wanting(found: Looked) -> list[str]:
    """What a check needs that nobody can read off a file."""
    lines = ["Roles are guesses from names and values: correct them in the command below."]
    have = {column.role for column in found.columns}
    meaning = {
        "outcome": "no column reads like the report: name it with --outcome",
        "proxies": "no column reads like a proxy: name other measurements of the same thing, made without "
        "the report, with --proxies",
        "environment": "no column reads like a circumstance of the report: name some with --environment",
    }
    return lines + [text for role, text in meaning.items() if role not in have]
