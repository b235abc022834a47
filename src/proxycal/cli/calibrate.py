"""`proxycal calibrate`: tables with a fitted run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from proxycal.cli import console
from proxycal.cli.options import EngineName, Json, Quiet, Resume, Run, SafeCsv, Scheduler, Tables, Workers
from proxycal.cli.reading import as_read

if TYPE_CHECKING:
    from proxycal.parallel import Engine


def calibrate(
    run: Run,
    tables: Tables,
    out: Annotated[
        Path, typer.Option(help="CSV or Parquet file for one table, or a folder for several.", metavar="PATH")
    ],
    resume: Resume = False,
    jobs: Workers = None,
    engine: EngineName = "joblib",
    scheduler: Scheduler = None,
    safe_csv: SafeCsv = False,
    quiet: Quiet = False,
    json_output: Json = False,
) -> None:
    """Calibrate tables with a fitted run: their columns, then y_cal, its interval, p_biased, shift and mu."""
    from proxycal.scale.calibrate import calibrate_files
    from proxycal.table.wording import counted

    with console.progress_bar("parts", quiet) as progress:
        done = calibrate_files(
            run,
            tables,
            out,
            jobs=jobs,
            engine=cast("Engine", engine),
            scheduler=scheduler,
            resume=resume,
            progress=progress,
            safe=safe_csv,
        )
    if json_output:
        facts = {"verdict": done.verdict, "rows": done.rows, "out": str(out), "tables": done.tables}
        more = {"files": list(done.files), "unanswered": done.unanswered, "resumed": done.resumed}
        console.print_json(facts | more | {"drift": list(done.drift)})
    elif not quiet:
        what = f"left as reported ({done.verdict})" if done.left_alone else "calibrated"
        parts = f", {counted(len(done.files), 'file')} of {counted(done.tables, 'table')}"
        where = "" if done.files == (str(out),) else parts
        before = f", {done.resumed} of them were already finished" if done.resumed else ""
        console.say(f"{done.rows:,} rows {what}: {out}{where}{before}")
        console.say_next("proxycal", "totals", run, *tables, *as_read())
