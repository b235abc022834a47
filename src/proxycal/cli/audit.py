"""`proxycal audit`: which rows to validate next, and the filled-in sheet back into the table."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxycal.cli import console
from proxycal.cli.options import Json, Quiet, Run, SafeCsv, Seed, Table
from proxycal.cli.reading import as_read
from proxycal.errors import ProxycalWarning
from proxycal.report.shell import asked_settings

if TYPE_CHECKING:
    import pandas as pd

    from proxycal.model import ProxyCalibrator


def audit(
    run: Run,
    table: Table,
    out: Annotated[Path, typer.Option(help="Excel, CSV or Parquet file to write.", metavar="FILE")],
    n: Annotated[int, typer.Option(help="Number of rows to validate.")] = 50,
    filled: Annotated[
        Path | None,
        typer.Option(help="The sheet that the auditor filled in, to merge into the table.", metavar="FILE"),
    ] = None,
    seed: Seed = 0,
    safe_csv: SafeCsv = False,
    quiet: Quiet = False,
    json_output: Json = False,
) -> None:
    """Choose rows to validate, or merge the filled-in sheet into the table.

    The sheet has the row of the table, what names it, the report, and an empty column for the truth; as .xlsx
    it is ready to be filled in and printed. With --filled the table is written with the true values that
    the auditor entered.
    """
    from proxycal.files import kind_of, write_table
    from proxycal.model import load
    from proxycal.store import check_output

    kind_of(out)
    check_output(out, [table] if filled is None else [table, filled])
    model = load(run)
    frame = console.read(table, model.result_.roles)
    if filled is not None:
        _take_back(model, frame, filled, out, safe_csv, quiet, json_output)
        return
    model.random_state = seed
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ProxycalWarning)
        plan = model.plan_audit(frame, n)
    write_table(plan.reset_index(drop=True), out, safe_csv)
    reading = plan.attrs["reading"]
    for warning in told:
        # The reading is printed below, and says why rows were chosen at random; it is not said twice.
        if str(warning.message) != reading:
            warnings.warn(warning.message, stacklevel=2)
    if json_output:
        facts = {"rows": len(plan), "out": str(out), "reading": reading, "ratio": plan.attrs["ratio"]}
        console.print_json(facts | {"random": plan.attrs["random"]})
    elif not quiet:
        from proxycal.table.audit_sheet import truth_name

        name = truth_name(model.result_.roles)
        console.say(reading, f"{len(plan)} rows: {out}; the auditor fills in the column '{name}'")
        console.say_next("proxycal", "audit", run, table, "--filled", out, "--out", "audited.csv", *as_read())


def _take_back(
    model: ProxyCalibrator,
    frame: pd.DataFrame,
    filled: Path,
    out: Path,
    safe_csv: bool,
    quiet: bool,
    json_output: bool,
) -> None:
    from dataclasses import replace

    from proxycal.files import write_table
    from proxycal.reading.options import Reading, reading_as
    from proxycal.reading.table import read_table
    from proxycal.table.audit_sheet import PROBABILITY, take_back, truth_name

    fit = model.result_
    roles = fit.roles
    with reading_as(Reading()):  # the options are about the table, and the sheet is ours
        sheet = read_table(filled, text=roles.text)
    audited = take_back(frame, roles, sheet)
    write_table(audited, out, safe_csv)
    name = truth_name(roles)
    known = int(audited[name].notna().sum())
    if json_output:
        console.print_json({"rows": len(audited), "validated": known, "out": str(out)})
    elif not quiet:
        console.say(f"{known} of {len(audited)} rows are validated: {out}")
        now = replace(roles, truth=name, inclusion=PROBABILITY)
        console.say_next(console.fit_command(out, now, asked_settings(fit)))
