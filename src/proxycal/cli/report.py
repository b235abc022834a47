"""`proxycal report`: the report of a saved run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proxycal.cli import console
from proxycal.cli.options import Json, Quiet, Run


def report(
    run: Run,
    out: Annotated[Path | None, typer.Option(help="File to write (default: RUN/report.html).")] = None,
    pdf: Annotated[
        bool, typer.Option("--pdf", help="Write a PDF as well (with Chromium if available).")
    ] = False,
    quiet: Quiet = False,
    json_output: Json = False,
) -> None:
    """Write the report of a saved run again, with the results of refute and power since then."""
    from proxycal.model import load
    from proxycal.store import check_output

    model = load(run)
    target = out if out is not None else run / "report.html"
    written = [target, target.with_suffix(".pdf")] if pdf and target.suffix.lower() != ".pdf" else [target]
    for path in written:
        check_output(path, endings=(".html", ".htm", ".pdf"))
    with console.working("writing the report", quiet):
        for path in written:
            model.report(path)
    if json_output:
        console.print_json({"report": str(target)} | ({"pdf": str(written[-1])} if pdf else {}))
    elif not quiet:
        console.say(*(f"report: {path}" for path in written))
