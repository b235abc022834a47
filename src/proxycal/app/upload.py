"""The one door for files: bytes stream into the folder of the page that sent them, up to a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from proxycal.app.guard import UPLOADS
from proxycal.app.tables import ending_of, too_large
from proxycal.errors import ProxycalError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from proxycal.app.workspace import Workspace, Workspaces

_NAME = 200


class Door:
    """ASGI: takes what is sent to /upload/TOKEN?name=NAME; everything else goes on to the page."""

    def __init__(self, app: ASGIApp, workspaces: Workspaces, limit: int) -> None:
        self.app = app
        self._workspaces = workspaces
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a file, or pass on."""
        if scope["type"] == "http" and scope["path"].startswith(UPLOADS):
            request = Request(scope, receive)
            await (await self._taken(request))(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _taken(self, request: Request) -> Response:
        workspace = self._workspaces.find(request.url.path.removeprefix(UPLOADS))
        if workspace is None:
            return _message("this page was closed: reload it and choose the file again", 404)
        try:
            return await self._saved(request, workspace)
        except ProxycalError as error:
            return _message(str(error), 415)
        except OSError as error:
            return _message(f"the file could not be saved ({error.strerror}): free some disk space", 507)

    async def _saved(self, request: Request, workspace: Workspace) -> Response:
        name = request.query_params.get("name", "")[:_NAME]
        path = workspace.new_file(ending_of(name))
        size = 0
        with path.open("wb") as target:
            # Too much is read to its end and thrown away: a browser that is cut off shows no message.
            async for chunk in request.stream():
                size += len(chunk)
                if size <= self._limit:
                    await run_in_threadpool(target.write, chunk)
        if size > self._limit:
            path.unlink()
            return _message(too_large(self._limit), 413)
        return JSONResponse({"number": workspace.keep_upload(path, name)})


def _message(text: str, status: int) -> JSONResponse:
    return JSONResponse({"message": text}, status_code=status)
