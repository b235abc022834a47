"""`proxycal reporters`: a row for each reporter of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proxycal.cli import console
from proxycal.cli.options import Json, Quiet, Run, SafeCsv


def reporters(
    run: Run,
    out: Annotated[Path | None, typer.Option(help="CSV or Parquet file to write.", metavar="FILE")] = None,
    safe_csv: SafeCsv = False,
    quiet: Quiet = False,
    json_output: Json = False,
) -> None:
    """Say how often each reporter is biased, by how much, and who differs by more than chance."""
    from proxycal.files import kind_of, write_table
    from proxycal.store import check_output, load_fit
    from proxycal.table.answers import reporters_frame
    from proxycal.table.wording import counted

    if out is not None:
        kind_of(out)
        check_output(out)
    fit = load_fit(run)
    table = reporters_frame(fit)
    if out is not None:
        write_table(table, out, safe_csv)
    if json_output:
        where = {} if out is None else {"out": str(out)}
        console.print_json({"verdict": fit.verdict, "reporters": table.to_dict("records"), **where})
    elif not quiet:
        console.say(table.to_string(index=False, float_format=lambda value: f"{value:.4g}"))
        if out is not None:
            console.say("", f"{counted(len(table), 'reporter')}: {out}")
