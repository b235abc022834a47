"""What one open page holds: a private folder, its uploads, at most one running job. All go when it closes.

What a killed program left, nobody holds: the next one removes it when it starts.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from proxycal.app.job import Job
from proxycal.app.queue import Queue
from proxycal.errors import StoreError
from proxycal.locks import hold, is_left

if TYPE_CHECKING:
    from proxycal.app.request import Request
    from proxycal.app.tables import Table

PREFIX = "proxycal-app-"
# Tables that a page keeps: the one it shows, and those before it that a run may still read.
KEPT = 6
# Pages that are open at a time; each holds a table in memory.
PAGES = 50


class Workspace:
    """The folder of one page. Every name in it is ours; `token` lets that page alone send files into it."""

    def __init__(self, queue: Queue | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX))  # readable by its owner only
        self._held = hold(self.folder)
        self._queue = Queue() if queue is None else queue
        self.token = secrets.token_urlsafe(32)
        self.job: Job | None = None
        self._uploads: dict[int, tuple[Path, str]] = {}
        self._made = 0

    def new_file(self, ending: str) -> Path:
        """A path that nothing has yet."""
        self._made += 1
        return self.folder / f"table-{self._made}{ending}"

    def keep_upload(self, path: Path, name: str) -> int:
        """Note that `path` is what its owner calls `name`; the number is all that the browser gets."""
        number = max(self._uploads, default=0) + 1
        self._uploads[number] = (path, name)
        for old in list(self._uploads)[:-KEPT]:
            self._uploads.pop(old)[0].unlink(missing_ok=True)
        return number

    def upload(self, number: object) -> tuple[Path, str] | None:
        """Our path and the owner's name of an upload of this page, None where there is no such number."""
        return self._uploads.get(number) if isinstance(number, int) else None

    def start(self, table: Table, request: Request) -> Job:
        """Run a request on a table; whatever ran before in this page is stopped."""
        self.stop()
        self._made += 1
        self.job = Job(self.folder / f"job-{self._made}", table, request, self._queue)
        return self.job

    def stop(self) -> None:
        """Stop the job that runs, if one does."""
        if self.job is not None:
            self.job.cancel()
            self.job = None

    def keep(self, job: Job) -> None:
        """Delete what earlier jobs wrote: the page shows the answer of this one."""
        for folder in self.folder.glob("job-*"):
            if folder != job.folder:
                shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Stop the job and delete everything."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._held is not None:
            os.close(self._held)
            self._held = None


class Workspaces:
    """The open pages, by their tokens; their jobs stand in one queue."""

    def __init__(self, places: int | None = None) -> None:
        self._open: dict[str, Workspace] = {}
        self._queue = Queue(places)

    def open(self) -> Workspace:
        """A workspace for a new page."""
        if len(self._open) >= PAGES:
            raise StoreError(f"{PAGES} pages are open, and that is the limit: close some of them")
        workspace = Workspace(self._queue)
        self._open[workspace.token] = workspace
        return workspace

    def find(self, token: str) -> Workspace | None:
        """The page with that token, if it is open."""
        return self._open.get(token)

    def close(self, workspace: Workspace) -> None:
        """The page is gone."""
        self._open.pop(workspace.token, None)
        workspace.close()

    def close_all(self) -> None:
        """The program ends."""
        for workspace in list(self._open.values()):
            self.close(workspace)


def remove_left() -> None:
    """Remove the folders of programs that were killed; those of running ones are held, and stay."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if folder.is_dir() and not folder.is_symlink() and is_left(folder):
            shutil.rmtree(folder, ignore_errors=True)
