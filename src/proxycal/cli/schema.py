"""`proxycal schema`: what programs may rely on in what others print and write."""

from __future__ import annotations

from typing import Annotated

import typer

from proxycal.cli import console


def schema(
    name: Annotated[
        str, typer.Argument(help="A command, settings, or a file of a run folder; none for the list.")
    ] = "",
) -> None:
    """Print the JSON Schema of what a command prints with --json, of settings, or of a run folder's files."""
    from proxycal.cli.schemas import names, schema_of

    if name:
        console.print_json(schema_of(name))
    else:
        console.say(*names())
