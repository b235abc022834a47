"""The command line: parses, calls, prints. Exit 0 done, 2 bad input, 1 anything else.

Whatever goes wrong is one line on standard error; PROXYCAL_DEBUG=1 adds the traceback. Imports of the heavy
rooms stand inside the commands, so that `--help` answers at once.
"""

from __future__ import annotations

import os
import traceback
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from proxycal.cli import console
from proxycal.cli.bench import bench
from proxycal.cli.calibrate import calibrate
from proxycal.cli.experiment import experiment
from proxycal.cli.options import (
    Cluster,
    Config,
    Direction,
    Effect,
    EngineName,
    Environment,
    Id,
    Jobs,
    Json,
    Level,
    Method,
    Missing,
    Outcome,
    Proxies,
    Quiet,
    Run,
    Scheduler,
    Seed,
    Table,
    Tables,
    Truth,
    Weights,
)
from proxycal.cli.questions import power, refute
from proxycal.errors import ProxycalError, ProxycalWarning, StoreError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxycal.engine import Engine
    from proxycal.testing.simulation import Direction as Bias
    from proxycal.testing.simulation import Noise

app = typer.Typer(
    name="proxycal",
    help="Calibrate a biased measurement with proxies that never saw the reporter.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Run folder to write.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Same seed, same bytes.")] = 0,
    quiet: Quiet = False,
    json_output: Json = False,
) -> None:
    """The main job on the JOBS table with a known injected bias: truth beside estimate."""
    console.check_writable(out)
    with console.working("fitting JOBS with an injected bias", quiet):
        from proxycal.cli import demonstration as job

        sim = job.biased_jobs(seed=seed)
        model = job.fit_demo(sim, seed=seed)
        with warnings.catch_warnings():
            # That nothing was calibrated is said in the text below.
            warnings.simplefilter("ignore", ProxycalWarning)
            compared = job.compare(model.calibrate(sim.table), sim, job.ALPHA, model.alpha_)
        page = console.write_run(model, out)
    if json_output:
        console.print_json(
            {**console.result(model), "truth": compared.to_dict(), "run": str(out), "report": str(page)}
        )
    elif not quiet:
        console.say(f"JOBS, {len(sim.table)} rows, with a known bias injected into {sim.roles.outcome}", "")
        console.show(model)
        console.say("", *job.lines(compared, model.verdict_), "", f"run folder: {out}", f"report:     {page}")


@app.command()
def check(
    table: Table,
    outcome: Outcome = None,
    proxies: Proxies = None,
    environment: Environment = None,
    weights: Weights = None,
    cluster: Cluster = None,
    id_column: Id = None,
    truth: Truth = None,
    config: Config = None,
    quiet: Quiet = False,
    json_output: Json = False,
) -> None:
    """Look a table over before fitting: what is missing, constant, duplicated, too close."""
    import proxycal
    from proxycal.cli.request import read_request
    from proxycal.report.terminal import output, show_findings

    request = read_request(config, {
        "outcome": outcome, "proxies": proxies, "environment": environment, "weights": weights,
        "cluster": cluster, "id": id_column, "truth": truth,
    })  # fmt: skip
    frame = console.read(table, request.roles)
    findings = proxycal.audit(frame, request.roles)
    if json_output:
        facts = {"table": str(table), "rows": len(frame), "ok": all(finding.ok for finding in findings)}
        console.print_json({**facts, "findings": [finding.to_dict() for finding in findings]})
    elif not quiet:
        console.say(f"{table}: {len(frame):,} rows, {frame.shape[1]} columns")
        show_findings(output(), findings, every=True)
        console.say_next(console.fit_command(table, request.roles))


@app.command()
def fit(
    tables: Tables,
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
    jobs: Jobs = None,
    engine: EngineName = "joblib",
    scheduler: Scheduler = None,
    config: Config = None,
    out: Annotated[Path | None, typer.Option(help="Run folder to write.", metavar="RUN")] = None,
    quiet: Quiet = False,
    json_output: Json = False,
) -> None:
    """Fit a table, in one file or several, and write a run folder with report.html."""
    from proxycal.cli.request import read_request

    request = read_request(config, {
        "outcome": outcome, "proxies": proxies, "environment": environment, "weights": weights,
        "cluster": cluster, "id": id_column, "truth": truth, "direction": direction, "method": method,
        "effect": effect, "level": level, "missing": missing, "seed": seed, "jobs": jobs, "out": out,
    })  # fmt: skip
    if request.out is None:
        raise StoreError("no place for the run given: pass --out with the name of a new folder")
    folder = Path(request.out)
    console.check_writable(folder)
    with console.working("fitting", quiet):
        from proxycal.model import ProxyCalibrator

        model = ProxyCalibrator.from_settings(request.roles, request.settings)
        model.fit_files(
            tables, jobs=request.settings.n_jobs, engine=cast("Engine", engine), scheduler=scheduler
        )
        page = console.write_run(model, folder)
    if json_output:
        console.print_json({**console.result(model), "run": str(folder), "report": str(page)})
    elif not quiet:
        console.show(model)
        console.say("", f"report: {page}")
        place = "calibrated.csv" if len(tables) == 1 else "calibrated/"
        console.say_next(console.shell("proxycal", "calibrate", folder, *tables, "--out", place))


app.command()(calibrate)


@app.command()
def report(
    run: Run,
    out: Annotated[Path | None, typer.Option(help="File to write; RUN/report.html if not given.")] = None,
    pdf: Annotated[bool, typer.Option("--pdf", help="Write a PDF as well (by Chromium if present).")] = False,
    quiet: Quiet = False,
    json_output: Json = False,
) -> None:
    """Write report.html again from a saved run, with what was asked of it since."""
    from proxycal.saved import load

    target = out if out is not None else run / "report.html"
    written = [target, target.with_suffix(".pdf")] if pdf and target.suffix.lower() != ".pdf" else [target]
    model = load(run)
    with console.working("writing the report", quiet):
        for path in written:
            model.report(path)
    if json_output:
        console.print_json({"report": str(target)} | ({"pdf": str(written[-1])} if pdf else {}))
    elif not quiet:
        console.say(*(f"report: {path}" for path in written))


app.command()(refute)
app.command()(power)


@app.command()
def simulate(
    out: Annotated[Path, typer.Option(help="CSV or Parquet file to write.", metavar="FILE")],
    n: Annotated[int, typer.Option(help="Rows.")] = 1000,
    alpha: Annotated[float, typer.Option(help="Size of the bias.")] = 5.0,
    d_z: Annotated[int, typer.Option(help="Dimensions of the content.")] = 5,
    d_e: Annotated[int, typer.Option(help="Environment columns.")] = 10,
    n_proxies: Annotated[int, typer.Option(help="Proxy columns.")] = 5,
    noise: Annotated[str, typer.Option(help="gaussian or poisson.")] = "gaussian",
    direction: Annotated[str, typer.Option(help="over or under.")] = "over",
    seed: Annotated[int, typer.Option(help="Same seed, same bytes.")] = 0,
    quiet: Quiet = False,
    json_output: Json = False,
) -> None:
    """Write a table with a known bias, and its truth in a second file beside it."""
    import proxycal
    from proxycal.files import write_table

    sim = proxycal.simulate(
        n=n,
        d_z=d_z,
        d_e=d_e,
        n_proxies=n_proxies,
        alpha=alpha,
        noise=cast("Noise", noise),
        random_state=seed,
        direction=cast("Bias", direction),
    )
    first, dot, ending = out.name.partition(".")
    truth = out.with_name(f"{first}.truth{dot}{ending}")
    write_table(sim.truth, truth)
    write_table(sim.table, out)
    if json_output:
        facts = {"table": str(out), "truth": str(truth), "rows": n}
        console.print_json({**facts, "roles": sim.roles.to_dict()})
    elif not quiet:
        console.say(f"table:  {out}", f"truth:  {truth}")
        console.say_next(console.fit_command(out, sim.roles, direction))


app.command()(experiment)
app.command()(bench)


@app.command("app")
def web_app(
    port: Annotated[int, typer.Option(help="Port of the page on this computer.")] = 8000,
    browser: Annotated[bool, typer.Option("--open/--no-open", help="Open it in the browser.")] = True,
) -> None:
    """Show a local page that calibrates a table without code; it is reachable from this computer only."""
    try:
        from proxycal.app.serve import serve
    except ModuleNotFoundError as error:
        raise UnavailableError(
            f"the page needs the package '{error.name}': pip install 'proxycal[app]' (in this folder: "
            "pip install -c constraints.txt '.[app]')"
        ) from error
    serve(port, browser)


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        from proxycal import __version__

        typer.echo(f"proxycal {__version__}")
        raise typer.Exit


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ProxycalWarning)
        try:
            code = app(args=None if argv is None else list(argv), prog_name="proxycal", standalone_mode=False)
        except Exception as error:
            return _explain(error)
    if code == 130:  # what typer makes of Ctrl-C
        console.complain("error: interrupted; nothing half-written was left behind")
        return 1
    # Only now: a command that was refused says its one line and nothing else.
    ours = [str(one.message) for one in caught if issubclass(one.category, ProxycalWarning)]
    for message in dict.fromkeys(ours):
        console.complain(f"warning: {message}")
    return int(code or 0)


def _explain(error: Exception) -> int:
    if os.environ.get("PROXYCAL_DEBUG") == "1":
        traceback.print_exc()
    usage = getattr(error, "format_message", None)  # click's own errors, wherever typer takes click from
    if usage is not None:
        console.complain(f"error: {usage()} (see --help)")
        return 2
    if isinstance(error, ProxycalError):
        console.complain(f"error: {error}")
        return 2
    console.complain(
        f"error: unexpected {type(error).__name__}: {error}. This is a defect in proxycal, not in your data; "
        "run again with PROXYCAL_DEBUG=1 for the details to report"
    )
    return 1
