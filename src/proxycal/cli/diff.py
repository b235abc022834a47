"""`proxycal diff`: what two runs do not share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proxycal.cli import console
from proxycal.cli.options import Json, Quiet

_Run = Annotated[Path, typer.Argument(metavar="RUN", help="Run folder.", show_default=False)]


def diff(first: _Run, second: _Run, quiet: Quiet = False, json_output: Json = False) -> None:
    """Compare two runs: roles and settings, what was found, findings, versions."""
    from proxycal.report.differences import differences
    from proxycal.report.terminal import show_differences
    from proxycal.store import load_fit

    found = differences(load_fit(first), load_fit(second))
    if json_output:
        named = {"first": str(first), "second": str(second), "same": not found}
        console.print_json(named | {"differences": [difference.to_dict() for difference in found]})
    elif not quiet:
        if found:
            show_differences(found, str(first), str(second))
        else:
            console.say("the two runs say the same")
