"""Who is at work on a file or a folder, and what a killed program left behind.

A lock is one of the operating system: it ends with the process that holds it, however that ends. So a
temporary file that nobody holds was left by a killed program, and the next one removes it. Where the file
system knows no locks, nothing is held and nothing is removed.

    .proxycal-0123456789ab.csv    a file or run folder while it is written
    .proxycal-lock-...            says who writes the folder of that name beside it
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
import socket
import sys
import time
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxycal.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be removed
    fcntl = None

# Seconds that a writer waits for another: a run folder is written in less than one.
PATIENCE = 30.0
_LOOK = 0.05
_TEMPORARY = re.compile(r"\.proxycal-[0-9a-f]{12}(\.[^/]{0,24})?")


@contextmanager
def temporary_file(folder: Path, ending: str = "") -> Iterator[Path]:
    """A new, empty, hidden file in `folder`; it is gone after the block unless it was renamed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, temporary_file(Path(folder), ".csv") as path:
    ...     path.suffix, path.stat().st_size
    ('.csv', 0)
    """
    clean_once(folder)
    while True:
        path = _new_name(folder, ending)
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        # Another program may have taken it for a leftover before it was held.
        if _hold(descriptor) is not False and os.fstat(descriptor).st_nlink:
            break
        os.close(descriptor)
    try:
        if fcntl is None:
            os.close(descriptor)
        yield path
    finally:
        if fcntl is not None:
            os.close(descriptor)
        # What cannot be removed now is removed by the next program.
        with contextlib.suppress(OSError):
            path.unlink()


@contextmanager
def temporary_folder(folder: Path, ending: str = "") -> Iterator[Path]:
    """A new hidden folder in `folder`; gone with its files after the block unless it was renamed."""
    clean_once(folder)
    while True:
        path = _new_name(folder, ending)
        path.mkdir()
        descriptor = _open(path)
        if descriptor is None or (_hold(descriptor) is not False and path.exists()):
            break
        os.close(descriptor)
    try:
        yield path
    finally:
        if descriptor is not None:
            os.close(descriptor)
        _remove(path)


def hold(folder: Path) -> int | None:
    """Hold a folder until the number returned is closed, or the program ends; None where that cannot be."""
    descriptor = _open(folder)
    if descriptor is not None:
        _hold(descriptor)
    return descriptor


def is_left(path: Path) -> bool:
    """Whether nobody holds a file or folder that its writer would hold."""
    descriptor = _open(path)
    if descriptor is None:
        return False
    try:
        return _hold(descriptor) is True
    finally:
        os.close(descriptor)


def clean(folder: Path) -> None:
    """Remove what killed programs were writing in a folder."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for path in [Path(entry.path) for entry in entries if _TEMPORARY.fullmatch(entry.name)]:
            if is_left(path):
                _remove(path)


@cache
def clean_once(folder: Path) -> None:
    """The same, once in the life of this program."""
    clean(folder)


@contextmanager
def alone(folder: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Be the only writer of a folder, which need not exist; StoreError that says who is after `patience`.

    Where nothing may be written beside the folder, it is written without a lock.
    """
    path = _lock_of(folder)
    descriptor = _locked(folder, path, time.monotonic() + patience)
    if descriptor is None:
        yield
        return
    try:
        command = " ".join(Path(part).name if i == 0 else part for i, part in enumerate(sys.argv[:2]))
        # Who holds it is a courtesy to those who wait: on a full disk the lock holds without it.
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()} ({command})".encode())
        yield
    finally:
        # First the name, then the lock: who waits for it sees that the name is another's.
        try:
            with contextlib.suppress(OSError):
                path.unlink()
        finally:
            os.close(descriptor)


def _locked(folder: Path, path: Path, until: float) -> int | None:
    """The open lock of a folder; None where there can be none."""
    while True:
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
                return None
            raise StoreError(
                f"'{folder}' cannot be written: {error.strerror}; check the permissions and the free space, "
                "or choose another place"
            ) from error
        state = _hold(descriptor)
        if state is not False and _is_at(descriptor, path):
            return descriptor
        os.close(descriptor)
        if state is False and time.monotonic() > until:
            raise StoreError(
                f"'{folder}' is being written by {holder(folder) or 'another program'}: wait until that has "
                "ended, or choose another folder"
            )
        time.sleep(_LOOK)


def holder(folder: Path) -> str:
    """Who writes a folder now, in words; "" if nobody does."""
    path = _lock_of(folder)
    try:
        return "" if is_left(path) else path.read_text(encoding="utf-8", errors="replace")[:200]
    except OSError:
        return ""


def hidden_name(kind: str, folder: Path) -> Path:
    """A hidden name beside a folder or file: the same every time, and short however long its name is."""
    return folder.parent / f".proxycal-{kind}-{hashlib.sha256(folder.name.encode()).hexdigest()[:16]}"


def _lock_of(folder: Path) -> Path:
    return hidden_name("lock", folder)


def _new_name(folder: Path, ending: str) -> Path:
    return folder / f".proxycal-{secrets.token_hex(6)}{ending if len(ending) <= 20 else ''}"


def _open(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None


def _hold(descriptor: int) -> bool | None:
    """Whether it is ours now; None where the file system cannot say."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether an open file still has that name."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except OSError:
        return False


def _remove(path: Path) -> None:
    """A temporary file, or a temporary folder with the files in it; nothing else is ever in one."""
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            for entry in list(path.iterdir()):
                entry.unlink()
            path.rmdir()
        else:
            path.unlink()
