"""Standard output and standard error that are closed or full.

What cannot be printed is no bug and no answer: one line on standard error and exit 2. A closed or full
standard error has nowhere to say even that, and changes nothing else.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import TextIO

from proxycal.errors import StoreError

# What writing to a stream fails with. A pipe whose reader has seen enough is no failure.
_LOST = (errno.ENOSPC, errno.EBADF, errno.EIO, errno.EDQUOT, errno.EFBIG)


class Closed(io.TextIOBase):
    """Standard output that was closed before the program began: `proxycal ... >&-`."""

    def write(self, text: str) -> int:
        """Refuse, as the operating system does."""
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def stand_in() -> None:
    """Put something in the place of closed streams, for which Python has None."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - it stays open to the end
    if sys.stdout is None:
        sys.stdout = Closed()


def lost_output(error: BaseException) -> StoreError | None:
    """The error in words where output could not be printed; None for any other error."""
    if not isinstance(error, OSError) or error.filename is not None or error.errno not in _LOST:
        return None
    silence(sys.stdout)
    return StoreError(
        f"the answer cannot be written to standard output ({error.strerror}): make room there, or pass --out "
        "or redirect to another place"
    )


def flush() -> None:
    """Write what is still waiting to be printed; an OSError where that cannot be."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        silence(sys.stdout)


def silence(stream: TextIO) -> None:
    """Let what is left go nowhere: the interpreter would try again at its end, and complain."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):
        # It has no file behind it, and so nothing is left.
        return
