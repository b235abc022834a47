"""`proxycal band`: totals under an assumption, where the data do not tell who is biased and by how much."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proxycal.cli import console
from proxycal.cli.options import Json, Quiet, Run, SafeCsv, Table
from proxycal.errors import SettingsError


def band(
    run: Run,
    table: Table,
    share: Annotated[
        str,
        typer.Option(
            help="How many of the rows are biased, from and to, such as 0.1,0.4.", metavar="LOW,HIGH"
        ),
    ],
    reports: Annotated[
        str | None,
        typer.Option(help="Which part of the truth biased rows report, such as 0.6,0.9.", metavar="LOW,HIGH"),
    ] = None,
    amount: Annotated[
        str | None,
        typer.Option(help="By what amount biased rows are off, in place of --reports.", metavar="LOW,HIGH"),
    ] = None,
    by: Annotated[str | None, typer.Option(help="Column of the groups, such as region.")] = None,
    out: Annotated[Path | None, typer.Option(help="CSV or Parquet file to write.", metavar="FILE")] = None,
    safe_csv: SafeCsv = False,
    quiet: Quiet = False,
    json_output: Json = False,
) -> None:
    """Totals under an assumption that you state: how many rows are biased, and by how much.

    For a run that is "not identified", or beside one that is not. Nothing of it is found in the data.
    """
    from proxycal.analysis.band import band_of
    from proxycal.files import kind_of, write_table
    from proxycal.report.terminal import show_band
    from proxycal.store import check_output, load_fit

    if out is not None:
        kind_of(out)
        check_output(out, [table])
    fit = load_fit(run)
    frame = console.read(table, fit.roles)
    made = band_of(
        fit,
        frame,
        _ends(share, "--share"),
        None if reports is None else _ends(reports, "--reports"),
        None if amount is None else _ends(amount, "--amount"),
        by,
    )
    if out is not None:
        write_table(made, out, safe_csv)
    assumption = str(made["assumption"].iloc[0])
    if json_output:
        facts = {"assumption": assumption, "by": by, "verdict": fit.verdict}
        where = {} if out is None else {"out": str(out)}
        console.print_json({**facts, **where, "totals": made.to_dict("records")})
    elif not quiet:
        console.say(assumption, "")
        show_band(made, by)
        if out is not None:
            console.say("", f"{len(made)} rows: {out}")


def _ends(text: str, option: str) -> tuple[float, float]:
    """Both ends of a range: "0.1,0.4"; one number is both."""
    try:
        ends = [float(part) for part in text.split(",")]
    except ValueError:
        ends = []
    if len(ends) not in (1, 2):
        raise SettingsError(f"{option} {text}: give two numbers with a comma between them, such as 0.1,0.4")
    return ends[0], ends[-1]
