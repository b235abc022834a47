"""What one open page holds: a private folder, its uploads, at most one running job. All go when it closes."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from proxycal.app.job import Job

if TYPE_CHECKING:
    from proxycal.app.request import Request
    from proxycal.app.tables import Table

PREFIX = "proxycal-app-"


class Workspace:
    """The folder of one page. Every name in it is ours; `token` lets that page alone send files into it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX))  # readable by its owner only
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
        number = len(self._uploads) + 1
        self._uploads[number] = (path, name)
        return number

    def upload(self, number: object) -> tuple[Path, str] | None:
        """Our path and the owner's name of an upload of this page, None where there is no such number."""
        return self._uploads.get(number) if isinstance(number, int) else None

    def start(self, table: Table, request: Request) -> Job:
        """Run a request on a table; whatever ran before in this page is stopped."""
        self.stop()
        self._made += 1
        self.job = Job(self.folder / f"job-{self._made}", table.path, request)
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


class Workspaces:
    """The open pages, by their tokens."""

    def __init__(self) -> None:
        self._open: dict[str, Workspace] = {}

    def open(self) -> Workspace:
        """A workspace for a new page."""
        workspace = Workspace()
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
