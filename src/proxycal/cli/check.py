"""`proxycal check`: problems of a table, before a fit."""

from __future__ import annotations

from proxycal.cli import console
from proxycal.cli.options import ROLES, SETTINGS, Json, Quiet, Table, takes
from proxycal.cli.request import Given


@takes(ROLES, SETTINGS)
def check(table: Table, given: Given, quiet: Quiet = False, json_output: Json = False) -> None:
    """Check a table: missing values, constant columns, duplicates, near-copies of the outcome."""
    import proxycal
    from proxycal.report.terminal import output, show_findings

    # Whether a table can be fitted does not depend on the direction.
    requests = given.read_both()
    roles, settings = requests[0].roles, requests[0].settings
    frame = console.read(table, roles)
    findings = proxycal.audit(frame, roles, settings)
    if json_output:
        facts = {"table": str(table), "rows": len(frame), "ok": all(finding.ok for finding in findings)}
        console.print_json({**facts, "findings": [finding.to_dict() for finding in findings]})
    elif not quiet:
        console.say(f"{table}: {len(frame):,} rows, {frame.shape[1]} columns")
        show_findings(output(), findings, every=True)
        console.say_choice(
            **{
                request.settings.direction: console.fit_command(table, roles, request.settings, given.config)
                for request in requests
            }
        )
