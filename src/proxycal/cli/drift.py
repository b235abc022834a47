"""`proxycal drift`: what changed in a table since the fit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proxycal.cli import console
from proxycal.cli.options import Json, Quiet, Run, SafeCsv, Tables


def drift(
    run: Run,
    tables: Tables,
    out: Annotated[Path | None, typer.Option(help="CSV or Parquet file to write.", metavar="FILE")] = None,
    safe_csv: SafeCsv = False,
    quiet: Quiet = False,
    json_output: Json = False,
) -> None:
    """Compare a table with the fitted one: units, values of every column, and how the reports behave.

    `proxycal calibrate` and `proxycal totals` compare too: other units end them, all else is a warning.
    """
    from proxycal.drift.wording import columns_of, row_text, warnings_of
    from proxycal.files import kind_of, write_table
    from proxycal.scale.drift import drift_of_files
    from proxycal.store import check_output, load_fit
    from proxycal.table.frames import from_columns

    if out is not None:
        kind_of(out)
        check_output(out, tables)
    fit = load_fit(run)
    with console.working("comparing", quiet):
        found = drift_of_files(fit, tables)
    frame = from_columns(columns_of(found))
    if out is not None:
        write_table(frame, out, safe_csv)
    if json_output:
        facts = {"compared": found.compared, "known": found.known, "fitted": found.fitted}
        where = {} if out is None else {"out": str(out)}
        console.print_json({**facts, **where, "columns": frame.to_dict("records")})
    elif not quiet:
        known = f"; {found.known:,} more are rows of the fit" if found.known else ""
        console.say(f"{found.compared:,} rows compared with {found.fitted:,} fitted ones{known}", "")
        console.say(*(row_text(row) for row in found.rows))
        console.say("", *(warnings_of(found) or ["Nothing that matters has changed."]))
        if out is not None:
            console.say("", f"{len(frame)} rows: {out}")
