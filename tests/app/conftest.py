"""The program of `proxycal app` itself, with a folder for temporary files that can be looked into."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest


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
