"""The one door for files: bytes stream into the folder of the page that sent them, up to a limit."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from proxycal.app.guard import UPLOADS
from proxycal.app.tables import ending_of, too_large
from proxycal.errors import ProxycalError

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.types import ASGIApp, Receive, Scope, Send

    from proxycal.app.workspace import Workspace, Workspaces

_NAME = 200
# Files that are sent at a time, and seconds between two pieces of one.
AT_ONCE, PATIENCE = 8, 30.0


class Door:
    """ASGI: takes what is sent to /upload/TOKEN?name=NAME; everything else goes on to the page."""

    def __init__(self, app: ASGIApp, workspaces: Workspaces, limit: int, patience: float = PATIENCE) -> None:
        self.app = app
        self._patience = patience
        self._coming = 0
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
        if self._coming >= AT_ONCE:
            return _message(f"{AT_ONCE} other files are being uploaded: try again in a moment", 503)
        self._coming += 1
        try:
            return await self._saved(request, workspace)
        except TimeoutError:
            return _message("the upload stopped before the end of the file: choose the file again", 408)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        except ProxycalError as error:
            return _message(str(error), 415)
        except OSError as error:
            return _message(f"the file could not be saved ({error.strerror}): free some disk space", 507)
        finally:
            self._coming -= 1

    async def _saved(self, request: Request, workspace: Workspace) -> Response:
        name = request.query_params.get("name", "")[:_NAME]
        path = workspace.new_file(ending_of(name))
        try:
            size = await self._received(request, path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        if size > self._limit:
            path.unlink()
            return _message(too_large(self._limit), 413)
        return JSONResponse({"number": workspace.keep_upload(path, name)})

    async def _received(self, request: Request, path: Path) -> int:
        """Bytes of the file, kept up to the limit."""
        size, chunks = 0, aiter(request.stream())
        with path.open("wb") as target:
            # Too much is read on and thrown away, for a while: a browser that is cut off shows no message.
            while size <= 2 * self._limit:
                async with asyncio.timeout(self._patience):
                    chunk = await anext(chunks, None)
                if chunk is None:
                    break
                size += len(chunk)
                if size <= self._limit:
                    await run_in_threadpool(target.write, chunk)
        return size


def _message(text: str, status: int) -> JSONResponse:
    return JSONResponse({"message": text}, status_code=status)
