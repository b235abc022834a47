"""One run in a process of its own: it waits its turn, reports progress, can be stopped, and outlives nobody.

job folder   request.json  in: the table's path and what to do
             run/ calibrated.csv answer.json   out: what `worker` writes when all went well
             log.txt   whatever else was printed
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from proxycal.app.timing import Progress

if TYPE_CHECKING:
    from pathlib import Path

    from proxycal.app.queue import Queue
    from proxycal.app.request import Request
    from proxycal.app.tables import Table

# Seconds to wait for a killed process to be gone.
_PATIENCE = 10
_STOPPED = "the run stopped without a message, usually out of memory: try again with fewer rows or columns"


@dataclass(frozen=True, slots=True)
class State:
    """A job at one moment: where it is, whether it has ended, and the message if it failed ("" if not)."""

    progress: Progress
    ended: bool
    error: str


class Job:
    """A request that is run on a table when its turn in the queue comes."""

    def __init__(self, folder: Path, table: Table, request: Request, queue: Queue) -> None:
        self.folder = folder
        self.request = request
        self._queue = queue
        self._process: subprocess.Popen[bytes] | None = None
        self._starting = threading.Lock()
        folder.mkdir(mode=0o700)
        reading = asdict(table.reading)
        asked = {"table": str(table.path), "reading": reading, "request": request.to_dict()}
        (folder / "request.json").write_text(json.dumps(asked), encoding="utf-8")
        self._started = self._stage_started = time.monotonic()
        self._told: dict[str, Any] = {"stage": "starting", "step": 0, "steps": 4, "done": 0, "total": 0}
        self._error = ""
        self._ended = threading.Event()
        queue.enter(self)

    def begin(self) -> None:
        """Start the process; one that was cancelled while it waited is not started."""
        with self._starting:
            if self._ended.is_set():
                return
            self._started = self._stage_started = time.monotonic()
            try:
                with (self.folder / "log.txt").open("wb") as log:
                    # A session of its own, so that the processes it starts can be stopped with it; -P, so
                    # that nothing in the current folder is imported as a library. Its input stays open while
                    # we live.
                    self._process = subprocess.Popen(
                        [sys.executable, "-P", "-m", "proxycal.app.worker", str(self.folder)],
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        stderr=log,
                        start_new_session=True,
                    )
            except OSError as error:
                why = f"the run could not be started ({error.strerror})"
                self._error = f"{why}: free some memory or disk space"
                self._ended.set()
                threading.Thread(target=self._queue.leave, args=[self], daemon=True).start()
                return
        threading.Thread(target=self._listen, args=[self._process], daemon=True).start()

    @property
    def pid(self) -> int | None:
        """The process that runs it; None while it waits."""
        return None if self._process is None else self._process.pid

    def state(self) -> State:
        """Where it is now."""
        now, told = time.monotonic(), self._told
        step, steps, done, total = (int(told[name]) for name in ("step", "steps", "done", "total"))
        waiting = self._queue.place(self)
        if waiting:
            self._started = self._stage_started = now
        times = (now - self._started, now - self._stage_started)
        return State(
            Progress(told["stage"], step, steps, done, total, *times, waiting=waiting),
            self._ended.is_set(),
            self._error,
        )

    def cancel(self) -> None:
        """Stop it, with every process it started, and delete what it wrote if it had not ended."""
        with self._starting:
            unfinished = not self._ended.is_set()
            if self._process is None:
                self._ended.set()  # it never began
        self._kill()
        self._ended.wait(_PATIENCE)
        self._queue.leave(self)
        if unfinished:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                if hasattr(os, "killpg"):
                    os.killpg(self._process.pid, signal.SIGKILL)
                else:
                    self._process.kill()

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        """Until its output ends: one JSON object a line."""
        assert process.stdout is not None
        for line in process.stdout:
            told = json.loads(line)
            if "error" in told:
                self._error = str(told["error"])
            else:
                if told["step"] != self._told["step"]:
                    self._stage_started = time.monotonic()
                self._told = told
        if process.wait() != 0 and not self._error:
            self._error = _STOPPED
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        self._ended.set()
        self._queue.leave(self)
