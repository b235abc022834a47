"""`proxycal bench`: the options, nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from proxycal import console

if TYPE_CHECKING:
    from proxycal.engine import Engine


def bench(
    kind: Annotated[
        str, typer.Argument(help="accuracy, coverage, null, sampled, violations, speed, scale or workers.")
    ],
    quick: Annotated[bool, typer.Option("--quick", help="A smoke test of under two minutes.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where a run stopped.")] = False,
    so_far: Annotated[bool, typer.Option("--so-far", help="Print what is finished; run nothing.")] = False,
    jobs: Annotated[int | None, typer.Option(help="Processes to use; all cores if not given.")] = None,
    engine: Annotated[str, typer.Option(help="joblib or dask.")] = "joblib",
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler.")] = None,
    work: Annotated[Path, typer.Option(help="Folder for finished cells.", metavar="DIR")] = Path(".bench"),
    out: Annotated[Path, typer.Option(help="Folder for the tables.", metavar="DIR")] = Path("benchmarks"),
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Measure accuracy, coverage and false alarms on data whose truth is known; write tables of it."""
    import joblib

    from proxycal.experiments.benchmarks import look, perform
    from proxycal.experiments.sweep import How

    if so_far:
        console.say(look(kind, quick, work))
        return
    workers = joblib.cpu_count() if jobs is None else jobs
    how = How(workers, cast("Engine", engine), scheduler, resume, quiet)
    text, paths = perform(kind, quick, work, out, how)
    if not quiet:
        console.say(text, *[f"written: {path}" for path in paths])
