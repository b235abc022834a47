"""Where a run or an output may be written: decided before any work, so that no hour of it is lost.

Nothing is deleted that the program did not write, and nothing is written over the table that is read or over
the files of a run.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from proxycal.errors import StoreError
from proxycal.files import explained
from proxycal.locks import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Iterable

    Name = str | os.PathLike[str]

RUN_FILES = (
    "config.toml",
    "roles.json",
    "encoder.json",
    "results.json",
    "tensors.safetensors",
    "labels.parquet",
    "rows.parquet",
    "history.csv",
    "versions.json",
)
MANIFEST, REPORT, QUESTIONS = "manifest.json", "report.html", "questions.json"


def check_run_folder(folder: Name, tables: Iterable[Name] = ()) -> None:
    """Refuse a run folder that cannot be written, or would replace what is not ours.

    tables : what is read meanwhile. A link is followed.
    """
    given, folder = folder, Path(os.path.realpath(folder))
    _refuse_stream(given)
    with explained(Path(given), "written"):
        refuse_foreign(folder)
        if folder.exists():
            if Path.cwd().is_relative_to(folder):
                raise StoreError(
                    f"'{given}' is the current folder, or holds it, and a run replaces its folder: name "
                    "another, such as 'run'"
                )
            if os.path.ismount(folder):
                raise StoreError(
                    f"'{given}' is a mount point, which cannot be replaced: name a folder in it, such as "
                    f"'{Path(given) / 'run'}'"
                )
            _check_writable(folder, given)
            _refuse_tables(given, tables, [folder / name for name in (*RUN_FILES, REPORT, QUESTIONS)])
            if folder.parent.stat().st_mode & stat.S_ISVTX and hasattr(os, "geteuid"):
                owners = (folder.stat().st_uid, folder.parent.stat().st_uid, 0)
                if os.geteuid() not in owners:
                    raise StoreError(f"'{given}' belongs to somebody else: choose another folder")
        _check_writable(folder.parent, given)


def check_folder(folder: Name) -> None:
    """Refuse a folder for several files that cannot be written, or that is a run folder."""
    _refuse_stream(folder)
    with explained(Path(folder), "written"):
        place = Path(os.path.realpath(folder))
        if (place / MANIFEST).exists():
            raise StoreError(f"'{folder}' is a run folder: choose a new or empty folder for the tables")
        _check_writable(place, folder)


def check_output(path: Name, tables: Iterable[Name] = (), endings: tuple[str, ...] = ()) -> None:
    """Refuse an output file that cannot be written, or would replace the table that is read or part of a run.

    endings : those that the name may have; any if none are given.
    """
    given, path = Path(path), Path(os.path.realpath(path))
    with explained(given, "written"):
        if endings and not path.name.lower().endswith(endings):
            raise StoreError(f"'{given}' must end in {' or '.join(endings)}: choose another name")
        if path.exists() and not path.is_file():
            raise StoreError(f"'{given}' is not an ordinary file: choose another name for the output")
        if not path.parent.is_dir():
            raise StoreError(
                f"'{given}' cannot be written: the folder '{given.parent}' does not exist; create it first"
            )
        ours = (*RUN_FILES, MANIFEST, QUESTIONS)
        if path.name.lower() in ours and (path.parent / MANIFEST).exists():
            raise StoreError(
                f"'{given}' is part of the run '{given.parent}', which it would destroy: choose another name"
            )
        _refuse_tables(given, tables, [path])
        if path.exists() and not os.access(path, os.W_OK):
            raise StoreError(f"'{given}' is read-only: choose another name for the output")
        _check_writable(path.parent, given)


def _refuse_stream(folder: Name) -> None:
    """Refuse "-", which means standard output and cannot hold several files."""
    if os.fspath(folder) == "-":
        raise StoreError(
            "'-' is standard output, and several files are written here: name a folder, such as 'run'"
        )


def refuse_foreign(folder: Path) -> None:
    """Refuse a folder of other files, and a file."""
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"'{folder}' is a file: choose another name for the run folder")
    if folder.is_dir() and not (folder / MANIFEST).exists():
        others = sorted(entry.name for entry in folder.iterdir())
        if others:
            raise StoreError(
                f"'{folder}' holds other files ('{others[0]}'): choose a new or empty folder for the run"
            )


def _refuse_tables(given: Name, tables: Iterable[Name], outputs: Iterable[Path]) -> None:
    there = [path for path in outputs if path.exists()]
    for table in tables:
        if os.path.exists(table) and any(os.path.samefile(table, path) for path in there):
            raise StoreError(
                f"writing '{given}' would overwrite the table '{table}' that is read: choose another name"
            )


def _check_writable(folder: Path, given: Name) -> None:
    """Try it: permissions alone do not tell."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        raise StoreError(f"'{given}' cannot be written: '{folder}' is a file; choose another place")
    try:
        with temporary_folder(folder):
            pass
    except OSError as error:
        raise StoreError(
            f"'{given}' cannot be written: {error.strerror or error}; choose another place for it"
        ) from error
