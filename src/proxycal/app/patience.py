"""Connections that say nothing are closed: one that is held open and never used is one that others lack.

Where many of them come at once, those that have waited longest go first: whoever speaks, as the browser of
the page's owner does as soon as its line is open, is answered at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

# Seconds from the first byte of a request, or the opening of the line, to the end of its headers.
HEADERS = 10.0


class Patient(H11Protocol):
    """HTTP/1.1 that waits for headers so long and no longer; uvicorn itself waits for ever."""

    seconds = HEADERS
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """A line was opened: its first request is due."""
        super().connection_made(transport)
        self._await_headers()
        self._make_way()

    def data_received(self, data: bytes) -> None:
        """Something came: it ends the wait if the headers are whole with it."""
        super().data_received(data)
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """The line is closed."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _await_headers(self) -> None:
        answering = self.cycle is not None and not self.cycle.response_complete
        upgraded = self.transport is not None and self.transport.get_protocol() is not self
        if answering or upgraded:
            self._stop_waiting()
        elif self._late is None:
            self._late = self.loop.call_later(self.seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _make_way(self) -> None:
        """Half of all lines may be silent; beyond, the oldest of these is closed for one that has come."""
        lines = (line for line in self.connections if isinstance(line, Patient))
        silent = {line: line._late.when() for line in lines if line._late is not None}
        if self.limit_concurrency is not None and len(silent) > self.limit_concurrency // 2:
            min(silent, key=lambda line: silent[line])._end_wait()

    def _end_wait(self) -> None:
        self._stop_waiting()
        self._give_up()

    def _give_up(self) -> None:
        self._late = None
        if (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing():
            self.transport.close()
            # Closed lines are counted until the loop comes round to them.
            self.connections.discard(self)
