"""`proxycal totals`: totals or means of a calibrated table, overall and by group."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from proxycal.cli import console
from proxycal.cli.options import EngineName, Json, Quiet, Run, SafeCsv, Scheduler, Tables, Workers

if TYPE_CHECKING:
    from proxycal.effect.totals import Statistic
    from proxycal.parallel import Engine


def totals(
    run: Run,
    tables: Tables,
    by: Annotated[str | None, typer.Option(help="Column of the groups, such as region.")] = None,
    weights: Annotated[
        str | None, typer.Option(help="Column of weights (default: the weights of the fit).")
    ] = None,
    statistic: Annotated[str, typer.Option(help="total or mean.")] = "total",
    out: Annotated[Path | None, typer.Option(help="CSV or Parquet file to write.", metavar="FILE")] = None,
    jobs: Workers = None,
    engine: EngineName = "joblib",
    scheduler: Scheduler = None,
    safe_csv: SafeCsv = False,
    quiet: Quiet = False,
    json_output: Json = False,
) -> None:
    """Add up a table with a fitted run: reported and calibrated totals, with intervals, also by group."""
    from proxycal.files import kind_of, write_table
    from proxycal.report.terminal import show_totals
    from proxycal.scale.totals import totals_files
    from proxycal.store import check_output, load_fit
    from proxycal.table.wording import counted

    if out is not None:
        kind_of(out)
        check_output(out, tables)
    fit = load_fit(run)
    with console.working("adding up", quiet):
        table = totals_files(
            fit,
            tables,
            by,
            weights,
            cast("Statistic", statistic),
            jobs=1 if jobs is None else jobs,
            engine=cast("Engine", engine),
            scheduler=scheduler,
        )
    if out is not None:
        write_table(table, out, safe_csv)
    if json_output:
        facts = {"verdict": fit.verdict, "statistic": statistic, "by": by, "level": fit.settings.level}
        where = {} if out is None else {"out": str(out)}
        answer = {"totals": table.to_dict("records"), "drift": table.attrs["drift"]}
        console.print_json({**facts, **where, **answer})
    elif not quiet:
        show_totals(table, by, fit.settings.level)
        if out is not None:
            console.say("", f"{counted(len(table), 'row')}: {out}")
