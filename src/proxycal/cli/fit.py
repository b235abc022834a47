"""`proxycal fit`: tables to a run folder with its report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from proxycal.cli import console
from proxycal.cli.options import ROLES, SETTINGS, EngineName, Json, Quiet, Scheduler, Tables, takes
from proxycal.cli.reading import as_read
from proxycal.cli.request import Given
from proxycal.errors import StoreError
from proxycal.report.shell import shell

if TYPE_CHECKING:
    from proxycal.parallel import Engine


@takes(ROLES, SETTINGS)
def fit(
    tables: Tables,
    given: Given,
    engine: EngineName = "joblib",
    scheduler: Scheduler = None,
    out: Annotated[Path | None, typer.Option(help="Run folder to write.", metavar="RUN")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the run in an existing run folder.")
    ] = False,
    quiet: Quiet = False,
    json_output: Json = False,
) -> None:
    """Fit a table, in one or several files, and write a run folder with report.html."""
    from proxycal.report.helps import helps
    from proxycal.report.terminal import show_helps
    from proxycal.store import check_run_folder

    request = given.read(out)
    if request.out is None:
        raise StoreError("--out is required: name a new folder for the run")
    folder = Path(request.out)
    check_run_folder(folder, tables)
    console.refuse_replacing(folder, force)
    with console.working("fitting", quiet):
        # Not by way of ProxyCalibrator: scikit-learn, whose manners it has, takes a second to load.
        from proxycal.fitting import fit_files

        settings = request.settings
        result = fit_files(
            tables, request.roles, settings, settings.n_jobs, cast("Engine", engine), scheduler
        )
        page = console.write_run(result, folder)
    if json_output:
        console.print_json({**console.result(result), "run": str(folder), "report": str(page)})
    elif not quiet:
        console.show(result)
        listed = helps(result, str(folder), str(tables[0]))
        show_helps(listed)
        console.say("", f"report: {page}")
        place = "calibrated.csv" if len(tables) == 1 else "calibrated/"
        to_do = [item.command for item in listed if item.command]
        usual = shell("proxycal", "calibrate", folder, *tables, "--out", console.free_name(place), *as_read())
        console.say_next(*(to_do[:1] or [usual]))
