"""`proxycal check`: whether a table can be fitted, and what to look at before."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from proxycal.cli import console
from proxycal.cli.look import look
from proxycal.cli.options import ROLES, SETTINGS, Json, Quiet, Table, takes
from proxycal.cli.reading import reading_options
from proxycal.cli.request import Given
from proxycal.report.shell import role_options, setting_options, shell
from proxycal.table.surface import APP_CHOICES

if TYPE_CHECKING:
    from pathlib import Path

    from proxycal.cli.request import Request
    from proxycal.table.gate import Gate


@takes(ROLES, SETTINGS)
def check(table: Table, given: Given, quiet: Quiet = False, json_output: Json = False) -> None:
    """Check a table: missing values, constant columns, duplicates, near-copies of the outcome.

    Exit code 2 while something must be fixed before a fit. Without any role it shows what is understood
    of the file, as `look` does, and what to add.
    """
    from proxycal.reading.table import understood
    from proxycal.report.terminal import output, show_findings
    from proxycal.table.gate import gate

    if given.without_roles:
        look(table, quiet, json_output)
        return
    # Whether a table can be fitted does not depend on the direction.
    requests = given.read_both()
    frame = console.read(table, requests[0].roles)
    found = gate(frame, requests[0].roles, requests[0].settings, given.stated)
    commands = _fits(table, given, requests, found) if found.open else {"": _again(table, given, requests)}
    if json_output:
        facts = {"table": str(table), "rows": len(frame), "ok": not found.must_fix and not found.look_at}
        findings = [*found.must_fix, *found.look_at, *found.fine]
        facts |= {"understood": understood(frame), "must_fix": len(found.must_fix)}
        facts |= {"next": list(commands.values())}
        console.print_json({**facts, "findings": [finding.to_dict() for finding in findings]})
    elif not quiet:
        console.say(f"{table}: {len(frame):,} rows, {frame.shape[1]} columns")
        if understood(frame):
            console.say(f"understood: {understood(frame)}")
        show_findings(output(), [*found.must_fix, *found.look_at, *found.fine], every=True)
        console.say_choice(commands, _to_choose(requests, found))
    if not found.open:
        raise typer.Exit(2)


def _fits(table: Path, given: Given, requests: list[Request], found: Gate) -> dict[str, str]:
    """The fits that may come next, with what the findings advise: by direction and treatment of gaps."""
    commands = {}
    for request in requests:
        direction = request.settings.direction
        for way in found.ways:
            case = f"if biased reports are {APP_CHOICES['direction', direction]}" if len(requests) > 1 else ""
            if len(found.ways) > 1:
                what = f"to {APP_CHOICES['missing', way.missing]}"
                case = f"{case}, and {what}" if case else what
            settings = replace(way, direction=direction)
            commands[case] = console.fit_command(table, request.roles, settings, given.config)
    return commands


def _to_choose(requests: list[Request], found: Gate) -> str:
    """What is left to the reader between the commands."""
    asked = ["the direction of the bias; the data cannot tell"] * (len(requests) > 1)
    asked += ["what happens to rows with missing values"] * (len(found.ways) > 1)
    return ", and ".join(asked)


def _again(table: Path, given: Given, requests: list[Request]) -> str:
    """The same check, to be run again after the table was corrected."""
    asked = {**role_options(requests[0].roles), **setting_options(requests[0].settings), **reading_options()}
    if len(requests) > 1:
        del asked["--direction"]
    if given.config is not None:
        asked["--config"] = str(given.config)
    return shell("proxycal", "check", table, *(part for option in asked.items() for part in option))
