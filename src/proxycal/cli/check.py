"""`proxycal check`: problems of a table, before a fit."""

from __future__ import annotations

from proxycal.cli import console
from proxycal.cli.options import ROLES, Json, Quiet, Table, takes
from proxycal.cli.request import Given


@takes(ROLES)
def check(table: Table, given: Given, quiet: Quiet = False, json_output: Json = False) -> None:
    """Check a table: missing values, constant columns, duplicates, near-copies of the outcome."""
    import proxycal
    from proxycal.report.terminal import output, show_findings

    roles = given.read().roles
    frame = console.read(table, roles)
    findings = proxycal.audit(frame, roles)
    if json_output:
        facts = {"table": str(table), "rows": len(frame), "ok": all(finding.ok for finding in findings)}
        console.print_json({**facts, "findings": [finding.to_dict() for finding in findings]})
    elif not quiet:
        console.say(f"{table}: {len(frame):,} rows, {frame.shape[1]} columns")
        show_findings(output(), findings, every=True)
        console.say_next(console.fit_command(table, roles))
