"""`proxycal experiment`: the options, nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from proxycal.cli import console
from proxycal.errors import SettingsError, StoreError
from proxycal.extras import require_torch

if TYPE_CHECKING:
    from proxycal.engine import Engine
    from proxycal.studies.case_study_files import Inputs


def experiment(
    study: Annotated[str, typer.Argument(help="synthetic, semisynthetic, case-study or nhanes.")],
    out: Annotated[Path | None, typer.Option(help="Folder to write.", metavar="DIR")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A few small cells, a smoke test.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a run stopped.")] = False,
    jobs: Annotated[int | None, typer.Option(help="Processes to use; all cores if not given.")] = None,
    engine: Annotated[str, typer.Option(help="joblib or dask.")] = "joblib",
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler.")] = None,
    methods: Annotated[str, typer.Option(help="Only these: paper,exact,...", metavar="A,B")] = "",
    ohie: Annotated[Path | None, typer.Option(help="Folder of the OHIE files.", metavar="DIR")] = None,
    stand_in: Annotated[bool, typer.Option("--stand-in", help="A simulated table like OHIE.")] = False,
    sanity: Annotated[bool, typer.Option("--sanity", help="Write sanity pages of one data set too.")] = False,
    simulated: Annotated[bool, typer.Option("--simulated", help="case-study: a made-up nation.")] = False,
    sheldus: Annotated[Path | None, typer.Option(help="case-study: SHELDUS export.", metavar="FILE")] = None,
    storm_events: Annotated[
        Path | None, typer.Option(help="case-study: folder of Storm Events details.", metavar="DIR")
    ] = None,
    zones: Annotated[Path | None, typer.Option(help="case-study: zone table.", metavar="FILE")] = None,
    transitions: Annotated[
        Path | None, typer.Option(help="case-study: Dynamic World transitions.", metavar="FILE")
    ] = None,
    counties: Annotated[Path | None, typer.Option(help="case-study: ACS table.", metavar="FILE")] = None,
    year: Annotated[int | None, typer.Option(help="case-study: year of the maps; the last.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """The studies of the paper, with its figures beside ours; nhanes: self-reports whose truth is known."""
    import joblib

    from proxycal.studies.case_study_files import Inputs
    from proxycal.studies.experiments import make, perform, write_sanity
    from proxycal.studies.nhanes import perform as perform_nhanes
    from proxycal.studies.sweep import How

    asked = [name.strip() for name in methods.split(",") if name.strip()]
    inputs = Inputs(sheldus, storm_events, zones, transitions, counties, simulated)
    workers = joblib.cpu_count() if jobs is None else jobs
    # Refuses what it does not know before anything is written.
    if study in ("nhanes", "case-study") and (asked or ohie or stand_in or sanity):
        raise SettingsError(f"--methods, --ohie, --stand-in and --sanity are not for {study}: leave them out")
    if study == "case-study":
        if resume or scheduler or engine != "joblib":
            raise SettingsError("--resume, --engine and --scheduler are not for case-study: leave them out")
        _case_study(inputs, out, year, quick, workers, quiet)
        return
    if inputs != Inputs() or year is not None:
        raise SettingsError(f"losses, land cover, counties and --year are for case-study, not for {study}")
    if sanity:
        require_torch("--sanity", "leave it out")
    made = None
    if study != "nhanes":
        made = make(study, quick, asked, None if ohie is None else str(ohie), stand_in)
    folder = _folder(out)
    how = How(workers, cast("Engine", engine), scheduler, resume, quiet)
    text = perform_nhanes(quick, folder, how) if made is None else perform(made, folder, how)
    if sanity and made is not None:
        write_sanity(made, folder)
    if not quiet:
        console.say(text, f"written: {folder / 'results.md'}")


def _case_study(
    inputs: Inputs, out: Path | None, year: int | None, quick: bool, jobs: int, quiet: bool
) -> None:
    from proxycal.studies.case_study_files import check_inputs, perform

    check_inputs(inputs)
    folder = _folder(out)
    with console.working("case study", quiet):
        text = perform(inputs, folder, year, quick, jobs)
    if not quiet:
        console.say(text, f"written: {folder / 'results.md'}, {folder / 'map.html'}")


def _folder(out: Path | None) -> Path:
    if out is None:
        raise StoreError("no place for the results given: pass --out with the name of a folder")
    return Path(out)
