"""`proxycal experiment`: the studies of the paper, and ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from proxycal.cli import console
from proxycal.cli.options import EngineName, Quiet, Resume, Scheduler, Workers
from proxycal.errors import SettingsError, StoreError
from proxycal.extras import require_torch

if TYPE_CHECKING:
    from proxycal.parallel import Engine
    from proxycal.studies.case_study_files import Inputs


Methods = Annotated[
    str, typer.Option(help="Methods to compare, such as paper,exact (default: all).", metavar="A,B")
]
AsPublished = Annotated[
    bool,
    typer.Option("--as-published", help="synthetic, semisynthetic: settings nearest to the paper's tables."),
]
Choices = Annotated[
    str, typer.Option(help="ablation: choices to run, such as literal,median.", metavar="A,B")
]
Sizes = Annotated[str, typer.Option(help="ablation: sizes to run, such as 500,2500.", metavar="N,N")]
Ohie = Annotated[Path | None, typer.Option(help="semisynthetic: folder of the OHIE files.", metavar="DIR")]
StandIn = Annotated[bool, typer.Option("--stand-in", help="semisynthetic: add a simulated table like OHIE.")]
Sanity = Annotated[bool, typer.Option("--sanity", help="Also write diagnostic pages of one data set.")]
Simulated = Annotated[
    bool, typer.Option("--simulated", help="case-study: use simulated counties and losses.")
]
StormEvents = Annotated[
    Path | None, typer.Option(help="case-study: folder of Storm Events details.", metavar="DIR")
]
Zones = Annotated[
    Path | None, typer.Option(help="case-study: table of forecast zones and counties.", metavar="FILE")
]
Transitions = Annotated[
    Path | None, typer.Option(help="case-study: Dynamic World transitions.", metavar="FILE")
]


def experiment(
    study: Annotated[
        str, typer.Argument(help="synthetic, semisynthetic, ablation, case-study, nhanes or polls.")
    ],
    out: Annotated[Path | None, typer.Option(help="Folder to write.", metavar="DIR")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Run a smoke test of a few small cells.")] = False,
    resume: Resume = False,
    jobs: Workers = None,
    engine: EngineName = "joblib",
    scheduler: Scheduler = None,
    methods: Methods = "",
    as_published: AsPublished = False,
    choices: Choices = "",
    sizes: Sizes = "",
    ohie: Ohie = None,
    stand_in: StandIn = False,
    sanity: Sanity = False,
    simulated: Simulated = False,
    sheldus: Annotated[Path | None, typer.Option(help="case-study: SHELDUS export.", metavar="FILE")] = None,
    storm_events: StormEvents = None,
    zones: Zones = None,
    transitions: Transitions = None,
    counties: Annotated[Path | None, typer.Option(help="case-study: ACS table.", metavar="FILE")] = None,
    year: Annotated[int | None, typer.Option(help="case-study: map year (default: latest).")] = None,
    quiet: Quiet = False,
) -> None:
    """Run the paper's studies with its figures beside ours; nhanes, polls: real reports with known truth.

    ablation: which open choices of the paper's method come nearest to its tables. The paper is Vishnubhatla,
    Wan, Harrison, Raglin and Liu, Proxy-Guided Measurement Calibration.
    """
    import joblib

    from proxycal.studies.ablation import perform as perform_ablation
    from proxycal.studies.case_study_files import Inputs
    from proxycal.studies.experiments import make, perform, write_sanity
    from proxycal.studies.nhanes import perform as perform_nhanes
    from proxycal.studies.sweep import How

    chosen = _listed(methods)
    inputs = Inputs(sheldus, storm_events, zones, transitions, counties, simulated)
    workers = joblib.cpu_count() if jobs is None else jobs
    # Options that do not apply are refused before anything is written.
    _refuse_foreign(study, bool(chosen or ohie or stand_in or sanity or as_published), bool(choices or sizes))
    if study in ("case-study", "polls") and (resume or scheduler or engine != "joblib"):
        raise SettingsError(f"--resume, --engine and --scheduler do not apply to {study}: leave them out")
    if study == "case-study":
        _case_study(inputs, out, year, quick, workers, quiet)
        return
    if inputs != Inputs() or year is not None:
        raise SettingsError(f"losses, land cover, counties and --year are for case-study, not for {study}")
    if study == "polls":
        return _polls(out, quick, quiet)
    if sanity:
        require_torch("--sanity", "leave it out")
    plan = None
    if study not in ("nhanes", "ablation"):
        plan = make(study, quick, chosen, None if ohie is None else str(ohie), stand_in, as_published)
    folder = _folder(out)
    with console.progress_bar(f"experiment {study}", quiet) as progress:
        how = How(workers, cast("Engine", engine), scheduler, resume, progress)
        if plan is not None:
            text = perform(plan, folder, how)
        elif study == "ablation":
            text = perform_ablation(folder, how, quick, _listed(choices), _whole(sizes))
        else:
            text = perform_nhanes(quick, folder, how)
    if sanity and plan is not None:
        write_sanity(plan, folder)
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


def _refuse_foreign(study: str, of_the_paper: bool, of_the_ablation: bool) -> None:
    """Refuse options of the paper's two studies, or of the ablation, where they mean nothing."""
    if of_the_paper and study in ("nhanes", "case-study", "polls", "ablation"):
        raise SettingsError(
            "--methods, --as-published, --ohie, --stand-in and --sanity do not apply to "
            f"{study}: leave them out"
        )
    if of_the_ablation and study != "ablation":
        raise SettingsError(f"--choices and --sizes are for ablation, not for {study}")


def _listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _whole(text: str) -> list[int]:
    listed = _listed(text)
    if not all(size.isdecimal() for size in listed):
        raise SettingsError(f"--sizes {text}: give whole numbers with commas between them, such as 500,2500")
    return [int(size) for size in listed]


def _polls(out: Path | None, quick: bool, quiet: bool) -> None:
    from proxycal.studies.polls_page import perform

    folder = _folder(out)
    with console.progress_bar("experiment polls", quiet) as progress:
        text = perform(quick, folder, progress)
    if not quiet:
        console.say(text, f"written: {folder / 'results.md'}")


def _folder(out: Path | None) -> Path:
    from proxycal.store import check_folder

    if out is None:
        raise StoreError("--out is required: name a folder for the results")
    check_folder(out)
    return out
