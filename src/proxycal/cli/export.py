"""`proxycal export`: a run as a view of a database."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proxycal.cli import console
from proxycal.cli.options import Json, Quiet, Run


def export(
    run: Run,
    sql: Annotated[str, typer.Option(help="Who reads it: duckdb, postgres or spark.")],
    reports: Annotated[str, typer.Option("--from", help="Name of the table of reports there.")] = "reports",
    view: Annotated[str, typer.Option(help="Name of the view to make.")] = "calibrated",
    out: Annotated[
        Path | None, typer.Option(help="File to write (default: print it).", metavar="FILE")
    ] = None,
    quiet: Quiet = False,
    json_output: Json = False,
) -> None:
    """Write SQL that calibrates inside a database: the table's columns, y_cal, p_biased and shift.

    For runs whose answer is closed form; any other is refused, with the reason.
    """
    from proxycal.files import write_text
    from proxycal.sql.view import view as sql_view
    from proxycal.store import check_output, load_fit

    if out is not None:
        check_output(out, endings=(".sql",))
    fit = load_fit(run)
    statement = sql_view(fit, sql, reports, view)
    if out is not None:
        write_text(out, statement)
    if json_output:
        where = {"statement": statement} if out is None else {"out": str(out)}
        console.print_json({"verdict": fit.verdict, "sql": sql, "from": reports, "view": view, **where})
    elif out is None:
        console.say(statement.rstrip())
    elif not quiet:
        console.say(f"view {view} of {reports}: {out}")
