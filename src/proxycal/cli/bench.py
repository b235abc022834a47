"""`proxycal bench`: the developer benchmarks, which stand in the source beside the package."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

import proxycal
from proxycal.cli import console
from proxycal.cli.options import EngineName, Quiet, Resume, Scheduler, Workers
from proxycal.errors import UnavailableError

if TYPE_CHECKING:
    from proxycal.parallel import Engine


def bench(
    kind: Annotated[
        str,
        typer.Argument(
            help="accuracy, after, counts, counts-paths, coverage, drift, elsewhere, gradual, invariants, "
            "invariants-long, losses, losses-selection, nations, null, rare-levels, ratio-rows, "
            "sampled, surveys, updates, validated, validated-means, violations, one-model, worlds, "
            "worlds-tuning, speed, scale, databases, validated-scale or workers."
        ),
    ],
    quick: Annotated[bool, typer.Option("--quick", help="Run a smoke test of under two minutes.")] = False,
    resume: Resume = False,
    so_far: Annotated[
        bool, typer.Option("--so-far", help="Print the finished part of a run; run nothing.")
    ] = False,
    jobs: Workers = None,
    engine: EngineName = "joblib",
    scheduler: Scheduler = None,
    work: Annotated[Path, typer.Option(help="Folder for finished cells.", metavar="DIR")] = Path(".bench"),
    out: Annotated[Path, typer.Option(help="Folder for the tables.", metavar="DIR")] = Path("benchmarks"),
    quiet: Quiet = False,
) -> None:
    """Measure accuracy, coverage, false alarms and speed on data with known truth (from a clone only)."""
    find_benchmarks(Path(proxycal.__file__).parents[2])
    import joblib

    from benchmarks.run import look, perform
    from proxycal.studies.sweep import How

    if so_far:
        console.say(look(kind, quick, work))
        return
    workers = joblib.cpu_count() if jobs is None else jobs
    with console.progress_bar(f"bench {kind}", quiet) as progress:
        how = How(workers, cast("Engine", engine), scheduler, resume, progress)
        text, paths = perform(kind, quick, work, out, how)
    if not quiet:
        console.say(text, *[f"written: {path}" for path in paths])


def find_benchmarks(clone: Path) -> None:
    """Make the package `benchmarks` of a clone importable, here and in the processes started from here."""
    if not (clone / "benchmarks" / "run.py").is_file():
        raise UnavailableError(
            "the benchmarks are not part of the installed package: run `proxycal bench` from a clone of "
            "proxycal's repository, which has them in the folder benchmarks/"
        )
    if str(clone) not in sys.path:
        sys.path.insert(0, str(clone))
    # Workers of joblib inherit sys.path; those of Dask, and further programs, only the environment.
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if str(clone) not in inherited:
        os.environ["PYTHONPATH"] = os.pathsep.join([str(clone), *filter(None, inherited)])
