"""`proxycal refute` and `proxycal power`: questions about a finished fit, or about a table before one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from proxycal.cli import console
from proxycal.cli.options import ROLES, SETTINGS, Json, Quiet, Run, Workers, takes
from proxycal.cli.request import Given
from proxycal.errors import SettingsError
from proxycal.questions.refute import REFUTERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

    from proxycal.model import ProxyCalibrator
    from proxycal.questions.answers import Power
    from proxycal.questions.power import PowerPoint
    from proxycal.questions.refute import RefuterName

Repetitions = Annotated[int, typer.Option(help="Number of refits of each kind.", min=2)]


def refute(
    run: Run,
    kind: Annotated[str, typer.Option(help=f"One of {', '.join(REFUTERS)}.")] = "null",
    repetitions: Repetitions = 20,
    jobs: Workers = None,
    quiet: Quiet = False,
    json_output: Json = False,
) -> None:
    """Try to refute a finished fit: change its rows in one way, refit, and compare."""
    import joblib

    from proxycal.model import load

    model = load(run)
    model.n_jobs = joblib.cpu_count() if jobs is None else jobs
    with console.progress_bar(f"refits ({kind})", quiet) as progress:
        answer = model.refute(cast("RefuterName", kind), repetitions, progress)
    keep(run, model)
    if json_output:
        console.print_json(answer.to_dict())
    elif not quiet:
        shown = answer.table.drop(columns="note").dropna(axis=1, how="all")
        console.say(shown.to_string(float_format="{:.4g}".format), "", str(answer))
        console.say_next("proxycal", "report", run)


@takes(ROLES, SETTINGS)
def power(
    table: Annotated[
        Path, typer.Argument(help="CSV, TSV, Excel or Parquet file, or a run folder.", metavar="TABLE|RUN")
    ],
    given: Given,
    jobs: Workers = None,
    alphas: Annotated[
        str, typer.Option(help="Sizes to try, in standard deviations of the outcome.")
    ] = "0.25,0.5,1,2,5",
    repetitions: Repetitions = 20,
    picture: Annotated[
        Path | None, typer.Option(help="PNG, SVG or PDF file to draw.", metavar="FILE")
    ] = None,
    quiet: Quiet = False,
    json_output: Json = False,
) -> None:
    """Estimate how large a bias must be to be found in this table, by injecting biases of known size.

    With a run folder in place of the table, roles are known and the answer is kept for its report.
    """
    import joblib

    from proxycal.store import check_output

    sizes = _numbers(alphas)
    if picture is not None:
        check_output(picture, [table], (".png", ".svg", ".pdf"))
    model_of = _saved(table, given) if table.is_dir() else _fitting(table, given)
    with console.progress_bar("fits of injected biases", quiet) as progress:
        model = model_of()
        model.n_jobs = joblib.cpu_count() if jobs is None else jobs
        answer = model.power(sizes, repetitions, progress, None if progress is None else _tell)
    if table.is_dir():
        keep(table, model)
    if picture is not None:
        _draw(answer, picture)
    if json_output:
        console.print_json(answer.to_dict())
    elif not quiet:
        console.say(answer.table.to_string(float_format="{:.3g}".format), "", answer.reading)
        if table.is_dir():
            console.say_next("proxycal", "report", table)


def _tell(point: PowerPoint) -> None:
    """A line as soon as the answer of a size is clear."""
    found = round(point.chance * point.repetitions)
    console.complain(f"{point.alpha:g} sd: found in {found} of {point.repetitions} tables")


def keep(run: Path, model: ProxyCalibrator) -> None:
    """Save the questions asked of a fit in its run folder, for the report."""
    from proxycal.store import keep_answers

    keep_answers(run, model.result_)


def _saved(run: Path, given: Given) -> Callable[[], ProxyCalibrator]:
    if given.flags:
        raise SettingsError(
            f"'{run}' is a run folder and has its own roles: leave out {given.flags[0]}, or name a table"
        )
    from proxycal.model import load

    model = load(run)
    return lambda: model


def _fitting(table: Path, given: Given) -> Callable[[], ProxyCalibrator]:
    request = given.read()
    frame = console.read(table, request.roles)

    def fit() -> ProxyCalibrator:
        from proxycal.model import ProxyCalibrator

        return ProxyCalibrator.from_settings(request.roles, request.settings).fit(frame)

    return fit


def _numbers(text: str) -> list[float]:
    try:
        return [float(size) for size in text.split(",") if size.strip()]
    except ValueError as error:
        raise SettingsError(f"--alphas {text!r} is not a list of numbers: write 0.5,1,2") from error


def _draw(answer: Power, picture: Path) -> None:
    from proxycal.files import atomic_file

    form = picture.suffix.lower().removeprefix(".")
    figure = cast("Figure", answer.plot().figure)
    with atomic_file(picture) as place:
        figure.savefig(place, format=form)
