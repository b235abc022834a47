"""`proxycal check`: whether a table can be fitted, and what to look at before."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from proxycal.cli import console
from proxycal.cli.options import ROLES, SETTINGS, Json, Quiet, Table, takes
from proxycal.cli.request import Given
from proxycal.report.shell import role_options, setting_options, shell

if TYPE_CHECKING:
    from proxycal.cli.request import Request
    from proxycal.table.gate import Gate


@takes(ROLES, SETTINGS)
def check(table: Table, given: Given, quiet: Quiet = False, json_output: Json = False) -> None:
    """Check a table: missing values, constant columns, duplicates, near-copies of the outcome.

    Exit code 2 while something must be fixed before a fit.
    """
    from proxycal.reading.table import understood
    from proxycal.report.terminal import output, show_findings
    from proxycal.table.gate import gate

    # Whether a table can be fitted does not depend on the direction.
    requests = given.read_both()
    frame = console.read(table, requests[0].roles)
    found = gate(frame, requests[0].roles, requests[0].settings)
    commands = _next(table, given, requests, found)
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
        console.say_choice(**commands)
    if not found.open:
        raise typer.Exit(2)


def _next(table: Table, given: Given, requests: list[Request], found: Gate) -> dict[str, str]:
    """What to run next: the fit in either direction, or this check again."""
    if found.open:
        return {
            request.settings.direction: console.fit_command(
                table, request.roles, replace(request.settings, missing=found.missing), given.config
            )
            for request in requests
        }
    asked = {**role_options(requests[0].roles), **setting_options(requests[0].settings)}
    if len(requests) > 1:
        del asked["--direction"]
    if given.config is not None:
        asked["--config"] = str(given.config)
    return {
        "again": shell("proxycal", "check", table, *(part for option in asked.items() for part in option))
    }
