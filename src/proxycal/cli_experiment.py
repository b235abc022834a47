"""`proxycal experiment`: the options, nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from proxycal import console
from proxycal.errors import SettingsError, StoreError

if TYPE_CHECKING:
    from proxycal.engine import Engine


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
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """The studies of the paper, with its figures beside ours; nhanes: self-reports whose truth is known."""
    import joblib

    from proxycal.experiments.experiments import make, perform, write_sanity
    from proxycal.experiments.nhanes import perform as perform_nhanes
    from proxycal.experiments.sweep import How

    asked = [name.strip() for name in methods.split(",") if name.strip()]
    # Refuses what it does not know before anything is written.
    if study == "nhanes":
        if asked or ohie or stand_in or sanity:
            raise SettingsError(
                "--methods, --ohie, --stand-in and --sanity are not for nhanes: leave them out"
            )
        made = None
    else:
        made = make(study, quick, asked, None if ohie is None else str(ohie), stand_in)
    if out is None:
        raise StoreError("no place for the results given: pass --out with the name of a folder")
    workers = joblib.cpu_count() if jobs is None else jobs
    how = How(workers, cast("Engine", engine), scheduler, resume, quiet)
    folder = Path(out)
    text = perform_nhanes(quick, folder, how) if made is None else perform(made, folder, how)
    if sanity and made is not None:
        write_sanity(made, folder)
    if not quiet:
        console.say(text, f"written: {folder / 'results.md'}")
