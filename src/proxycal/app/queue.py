"""One line for all pages: as many jobs at a time as the computer has cores, the others wait their turn."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

import joblib

if TYPE_CHECKING:
    from collections.abc import Callable


class Waiting(Protocol):
    """What can stand in the line."""

    def begin(self) -> None:
        """Start; called when its turn has come, at most once."""


class Queue:
    """First come, first served. A job that ends, or leaves, lets the next begin."""

    def __init__(self, places: int | None = None) -> None:
        self.places = int(joblib.cpu_count()) if places is None else places
        self._lock = threading.Lock()
        self._running: list[Waiting] = []
        self._waiting: list[Waiting] = []

    def enter(self, job: Waiting) -> None:
        """Begin the job now or when its turn comes."""
        with self._lock:
            self._waiting.append(job)
        self._next()

    def leave(self, job: Waiting) -> None:
        """The job has ended, or does not want to wait any more."""
        with self._lock:
            for line in (self._running, self._waiting):
                if job in line:
                    line.remove(job)
        self._next()

    def place(self, job: Waiting) -> int:
        """How many jobs begin before this one, and itself; 0 when it has begun or left."""
        with self._lock:
            return self._waiting.index(job) + 1 if job in self._waiting else 0

    def _next(self) -> None:
        begun: list[Callable[[], None]] = []
        with self._lock:
            while self._waiting and len(self._running) < self.places:
                job = self._waiting.pop(0)
                self._running.append(job)
                begun.append(job.begin)
        for begin in begun:
            begin()
