"""Fail the k-th call that the package makes to the operating system, for every k."""

from __future__ import annotations

import builtins
import errno
import io
import os
from contextlib import contextmanager

OS_CALLS = ("open", "replace", "rename", "fsync", "mkdir", "unlink", "rmdir", "ftruncate", "write", "chmod")
ERRORS = {
    "ENOSPC": lambda: OSError(errno.ENOSPC, "No space left on device"),
    "EIO": lambda: OSError(errno.EIO, "Input/output error"),
    "EROFS": lambda: OSError(errno.EROFS, "Read-only file system"),
    "MemoryError": MemoryError,
}


class Shim:
    """Counts calls; the k-th raises. k = 0 raises never."""

    def __init__(self, k: int, error: str) -> None:
        self.k, self.error, self.calls = k, ERRORS[error], 0

    def wrap(self, function):
        def called(*args, **kwargs):
            self.calls += 1
            if self.calls == self.k:
                raise self.error()
            return function(*args, **kwargs)

        return called


@contextmanager
def failing(k: int, error: str = "EIO"):
    """The k-th call fails, within the block."""
    shim = Shim(k, error)
    kept = {name: getattr(os, name) for name in OS_CALLS}
    opened = io.open
    try:
        for name, function in kept.items():
            setattr(os, name, shim.wrap(function))
        io.open = builtins.open = shim.wrap(opened)
        yield shim
    finally:
        for name, function in kept.items():
            setattr(os, name, function)
        io.open = builtins.open = opened
