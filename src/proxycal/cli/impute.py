"""`proxycal impute`: completed tables of a file, for analyses that `proxycal.pool` combines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proxycal.cli import console
from proxycal.cli.options import Json, Quiet, Run, SafeCsv, Table


def impute(
    run: Run,
    table: Table,
    out: Annotated[Path, typer.Option(help="Folder for the completed tables.", metavar="DIR")],
    m: Annotated[int, typer.Option("--m", help="How many completed tables.")] = 20,
    include: Annotated[
        list[str] | None,
        typer.Option(
            help="Column outside the fit that will stand in the analysis; repeat for several.",
            metavar="COLUMN",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the draws (default: that of the fit).")] = None,
    format: Annotated[
        str | None, typer.Option(help="How they are written: csv or parquet (default: like the table).")
    ] = None,
    safe_csv: SafeCsv = False,
    quiet: Quiet = False,
    json_output: Json = False,
) -> None:
    """Write completed tables: the outcome column holds draws of the truth, all other columns stay."""
    from proxycal.analysis.impute_files import impute_files
    from proxycal.table.wording import counted

    with console.working("imputing", quiet):
        done = impute_files(run, table, out, m, seed, include or (), safe_csv, format)
    if json_output:
        facts = {"verdict": done.verdict, "rows": done.rows, "unanswered": done.unanswered}
        console.print_json({**facts, "out": str(out), "files": list(done.files)})
    elif not quiet:
        what = f"left as reported ({done.verdict})" if done.left_alone else "completed"
        console.say(f"{counted(len(done.files), 'table')} of {done.rows:,} rows {what}: {out}")
