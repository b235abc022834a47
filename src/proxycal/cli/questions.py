"""`proxycal refute` and `proxycal power`: questions put to a finished fit, and to a table before one."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from proxycal.cli import console
from proxycal.cli.options import (
    Cluster,
    Config,
    Direction,
    Effect,
    Environment,
    Id,
    Json,
    Level,
    Method,
    Missing,
    Outcome,
    Proxies,
    Quiet,
    Run,
    Seed,
    Truth,
    Weights,
    Workers,
)
from proxycal.errors import SettingsError
from proxycal.questions.refute import REFUTERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from matplotlib.figure import Figure

    from proxycal.model import ProxyCalibrator
    from proxycal.questions.answers import Power
    from proxycal.questions.refits import Progress
    from proxycal.questions.refute import RefuterName

Repetitions = Annotated[int, typer.Option(help="Refits of each kind.", min=2)]


def refute(
    run: Run,
    kind: Annotated[str, typer.Option(help=f"One of {', '.join(REFUTERS)}.")] = "null",
    repetitions: Repetitions = 20,
    jobs: Workers = None,
    quiet: Quiet = False,
    json_output: Json = False,
) -> None:
    """Try to break a finished fit: change its rows in one way, fit again, and see what still stands."""
    import joblib

    from proxycal.saved import load

    model = load(run)
    model.n_jobs = joblib.cpu_count() if jobs is None else jobs
    with counted(f"refits ({kind})", quiet) as progress:
        found = model.refute(cast("RefuterName", kind), repetitions, progress)
    keep(run, model)
    if json_output:
        console.print_json(found.to_dict())
    elif not quiet:
        shown = found.table.drop(columns="note").dropna(axis=1, how="all")
        console.say(shown.to_string(float_format="{:.4g}".format), "", str(found))
        console.say_next(console.shell("proxycal", "report", run))


def power(
    table: Annotated[Path, typer.Argument(help="CSV or Parquet file, or a run folder.", metavar="TABLE|RUN")],
    outcome: Outcome = None,
    proxies: Proxies = None,
    environment: Environment = None,
    weights: Weights = None,
    cluster: Cluster = None,
    id_column: Id = None,
    truth: Truth = None,
    direction: Direction = None,
    method: Method = None,
    effect: Effect = None,
    level: Level = None,
    missing: Missing = None,
    seed: Seed = None,
    jobs: Workers = None,
    config: Config = None,
    alphas: Annotated[str, typer.Option(help="Sizes to try, in sds of the outcome.")] = "0.25,0.5,1,2,5",
    repetitions: Repetitions = 20,
    picture: Annotated[
        Path | None, typer.Option(help="PNG, SVG or PDF file to draw.", metavar="FILE")
    ] = None,
    quiet: Quiet = False,
    json_output: Json = False,
) -> None:
    """How large a bias would have to be for this table to show it: known biases are injected and fitted.

    A run folder in place of the table needs no roles, and keeps the answer for its report.
    """
    import joblib

    sizes = _numbers(alphas)
    asked = {
        "outcome": outcome, "proxies": proxies, "environment": environment, "weights": weights,
        "cluster": cluster, "id": id_column, "truth": truth, "direction": direction, "method": method,
        "effect": effect, "level": level, "missing": missing, "seed": seed,
    }  # fmt: skip
    make = _saved(table, config, asked) if table.is_dir() else _fitting(table, config, asked)
    with counted("fits of injected biases", quiet) as progress:
        model = make()
        model.n_jobs = joblib.cpu_count() if jobs is None else jobs
        found = model.power(sizes, repetitions, progress)
    if table.is_dir():
        keep(table, model)
    if picture is not None:
        _draw(found, picture)
    if json_output:
        console.print_json(found.to_dict())
    elif not quiet:
        console.say(found.table.to_string(float_format="{:.3g}".format), "", found.reading)
        if table.is_dir():
            console.say_next(console.shell("proxycal", "report", table))


def keep(run: Path, model: ProxyCalibrator) -> None:
    """Write what was asked of the fit into its run folder, for the report."""
    from proxycal.questions.answers import answers_to_dict
    from proxycal.store import keep_questions

    keep_questions(run, answers_to_dict(model.questions_))


def _saved(run: Path, config: Path | None, asked: dict[str, Any]) -> Callable[[], ProxyCalibrator]:
    given = [f"--{name}" for name, value in asked.items() if value is not None]
    if given or config is not None:
        first = given[0] if given else "--config"
        raise SettingsError(f"'{run}' is a run folder and has its roles: leave out {first}, or name a table")
    from proxycal.saved import load

    model = load(run)
    return lambda: model


def _fitting(table: Path, config: Path | None, asked: dict[str, Any]) -> Callable[[], ProxyCalibrator]:
    from proxycal.cli.request import read_request

    request = read_request(config, asked)
    frame = console.read(table, request.roles)

    def fit() -> ProxyCalibrator:
        from proxycal.model import ProxyCalibrator

        return ProxyCalibrator.from_settings(request.roles, request.settings).fit(frame)

    return fit


def _numbers(text: str) -> list[float]:
    try:
        return [float(one) for one in text.split(",") if one.strip()]
    except ValueError as error:
        raise SettingsError(f"--alphas {text!r} is not a list of numbers: write 0.5,1,2") from error


def _draw(found: Power, picture: Path) -> None:
    from proxycal.files import atomic_file

    form = picture.suffix.lower().removeprefix(".")
    if form not in ("png", "svg", "pdf"):
        raise SettingsError(f"--picture '{picture}': end the name in .png, .svg or .pdf")
    figure = cast("Figure", found.plot().figure)
    with atomic_file(picture) as place:
        figure.savefig(place, format=form)


@contextmanager
def counted(what: str, quiet: bool) -> Iterator[Progress | None]:
    """A bar of finished refits on standard error, if that is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
               TextColumn("time left"), TimeRemainingColumn())  # fmt: skip
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
