"""The program behind `proxycal app`: the page, its guard and its door, on 127.0.0.1 and nowhere else."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import sys
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from shiny import App, ui

from proxycal.app import views
from proxycal.app.guard import Guard, policy_for
from proxycal.app.messages import Messages
from proxycal.app.patience import Patient
from proxycal.app.server import make_server
from proxycal.app.tables import LIMIT
from proxycal.app.timing import Pace
from proxycal.app.upload import Door
from proxycal.app.workspace import PAGES, Workspaces, remove_left
from proxycal.errors import SettingsError
from proxycal.report.page import report_script

if TYPE_CHECKING:
    from starlette.types import ASGIApp

HOST = "127.0.0.1"
# Seconds that open pages get to close when the program is stopped.
_GRACE = 2
# Bytes of one message of a page: the roles of its columns are the longest.
_MESSAGE = 2**20
# Seconds in which a browser answers that it is still there. Nothing is read from a page whose last message is
# still at work, its answer to this question neither: with 20 pages on a busy computer that took minutes.
_SILENCE = 600
# Connections at a time: those of all pages that may be open, with their sockets and files.
_LINES = 6 * PAGES


def build(port: int, token: str, limit: int = LIMIT) -> ASGIApp:
    """The whole program as an ASGI application; `limit` is the largest file in bytes."""
    workspaces = Workspaces()
    page = ui.page_html(views.page(limit))
    shiny = App(page, make_server(workspaces, Pace()), static_assets={"/static": _static()})
    shiny.sanitize_errors = True
    shiny.on_shutdown(workspaces.close_all)
    # The page, and the report in its frame.
    policy = policy_for(page.render()["html"] + f"<script>{report_script()}</script>")
    return Guard(Door(Messages(shiny), workspaces, limit), port, policy, token)


def serve(port: int, browser: bool) -> None:
    """Show the page until the program is stopped."""
    listener = _listen(port)
    remove_left()
    port = listener.getsockname()[1]
    token = secrets.token_urlsafe(24)
    address = f"http://{HOST}:{port}/?token={token}"
    print(f"the page is at {address}\nstop it with Ctrl-C", flush=True)
    if browser and _has_screen():
        threading.Timer(1.0, webbrowser.open, [address]).start()
    with contextlib.suppress(KeyboardInterrupt):
        config = uvicorn.Config(
            build(port, token),
            log_level="warning",
            lifespan="on",
            timeout_graceful_shutdown=_GRACE,
            server_header=False,
            ws_max_size=_MESSAGE,
            ws_ping_timeout=_SILENCE,
            http=Patient,
            limit_concurrency=_LINES,
        )
        uvicorn.Server(config).run(sockets=[listener])


def _listen(port: int) -> socket.socket:
    """A socket of this computer only."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # free again at once after a stop
    try:
        listener.bind((HOST, port))
        listener.listen()  # a browser that comes before the page is ready waits for it
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise SettingsError(
            f"port {port} cannot be used ({reason}): perhaps another `proxycal app` has it; "
            "pass --port with another number, such as 8001"
        ) from error
    return listener


def _has_screen() -> bool:
    """Whether a browser window can open; on a server one must not start in the terminal."""
    if not sys.stdout.isatty():
        return False
    return sys.platform in ("darwin", "win32") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )


def _static() -> Path:
    return Path(__file__).parent / "static"
