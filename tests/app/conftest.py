"""The program of `proxycal app` itself, with a folder for temporary files that can be looked into."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from loss_tables import ROLES, losses
from proxycal.app.answer import read_answer
from proxycal.app.reproduce import Source
from proxycal.app.request import Request
from proxycal.app.state import Finished
from proxycal.app.tables import read_upload
from proxycal.app.worker import run
from proxycal.files import write_table
from proxycal.settings import Settings


@dataclass(frozen=True)
class Program:
    """A running `proxycal app`: its address with the token, its process, and its temporary files."""

    address: str
    pid: int
    temporary: Path

    @property
    def origin(self) -> str:
        return self.address.partition("/?")[0]

    @property
    def port(self) -> int:
        return int(self.origin.rpartition(":")[2])

    @property
    def cookie(self) -> str:
        """What the first answer gives a browser."""
        return f"proxycal-{self.port}={self.address.partition('token=')[2]}"

    def workers(self) -> set[int]:
        """Processes of jobs that it started."""
        found = set()
        for place in Path("/proc").glob("[0-9]*"):
            try:
                command = (place / "cmdline").read_bytes()
                parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue  # it ended while we looked
            if parent == self.pid and b"proxycal.app.worker" in command:
                found.add(int(place.name))
        return found

    def folders(self) -> set[str]:
        """Folders of open pages."""
        return {one.name for one in self.temporary.glob("proxycal-app-*")}


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A run that ended, as a page keeps it: losses in two states, of which a third are under-reported."""
    folder = tmp_path_factory.mktemp("finished") / "job-1"
    folder.mkdir()
    table, true, _ = losses(n=500, zeros=0.1)
    frame = table.assign(
        code=[f"{i:05d}" for i in range(500)], state=np.where(np.arange(500) % 3, "Ohio", "Iowa")
    )
    path = folder.parent / "table-1.csv"
    write_table(frame, path)
    kept = read_upload(path, "my losses.csv")
    settings = Settings(direction="under", scale="log", method="moments")
    request = Request(replace(ROLES, id="code"), settings)
    run(folder, path, request, lambda told: None)
    answer = read_answer(folder)
    return Finished(folder, request, Source("my losses.csv"), answer, kept), true


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    """One program for all tests of a process, as a user would start it."""
    temporary = tmp_path_factory.mktemp("temporary")
    running = subprocess.Popen(
        [sys.executable, "-m", "proxycal", "app", "--port", "0", "--no-open"],
        env={**os.environ, "TMPDIR": str(temporary), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    line = running.stdout.readline()
    assert "http://127.0.0.1:" in line, line
    yield Program(line.split()[-1], running.pid, temporary)
    running.terminate()
    running.wait(30)
    running.stdout.close()
    assert list(temporary.glob("proxycal-app-*")) == [], "the program cleans up when it ends"
