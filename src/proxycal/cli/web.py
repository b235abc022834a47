"""`proxycal app`: the local web page."""

from __future__ import annotations

from typing import Annotated

import typer

from proxycal.errors import UnavailableError


def serve_app(
    port: Annotated[int, typer.Option(help="Port on this computer.")] = 8000,
    browser: Annotated[bool, typer.Option("--open/--no-open", help="Open it in the browser.")] = True,
) -> None:
    """Start a local web page that calibrates a table without code; only this computer can reach it."""
    try:
        from proxycal.app.serve import serve
    except ModuleNotFoundError as error:
        raise UnavailableError(
            f"the app needs the package '{error.name}': pip install 'proxycal[app]' (in a clone: "
            "pip install -c constraints.txt '.[app]')"
        ) from error
    serve(port, browser)
