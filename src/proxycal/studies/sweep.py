"""Many cells of work that survive a kill: each is written as soon as it is done.

    folder/sweep.json        the config of the run and its hash
    folder/cells/KEY.json    one finished cell: its settings, its rows or its error, the seconds it took

A folder belongs to one config; resuming it with another is refused, so that no table mixes two runs.
What is returned is read back from the folder, so an interrupted run and a whole one give the same rows.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from proxycal.errors import SettingsError, StoreError
from proxycal.files import explained, first_line, write_text
from proxycal.parallel import Engine, map_as_done
from proxycal.result import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

Settings = Mapping[str, Any]
Rows = list[dict[str, Any]]
Work = Callable[[Settings], Rows]
# Called after each cell: how many are done, of how many.
Progress = Callable[[int, int], None]
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.=,-]*")


@dataclass(frozen=True, slots=True)
class Cell:
    """One piece of work: a name that is also its file, and the settings handed to the function."""

    key: str
    settings: Settings


@dataclass(frozen=True, slots=True)
class Done:
    """A finished cell: rows of plain values, or the error that ended it."""

    key: str
    settings: Settings
    rows: Rows
    error: str | None
    seconds: float


@dataclass(frozen=True, slots=True)
class How:
    """How to run: processes, joblib or Dask, resuming or starting over, and whom to tell of progress."""

    jobs: int = 1
    engine: Engine = "joblib"
    scheduler: str | None = None
    resume: bool = False
    progress: Progress | None = None


def sweep(cells: Sequence[Cell], work: Work, folder: Path, config: Settings, how: How) -> list[Done]:
    """Do every cell that is not done yet, and return all of them in the order given.

    work : a function of a module, from the settings of a cell to rows of plain values (JSON).
    A cell that raises is recorded with its error and the others continue; `--resume` tries it again.
    """
    _check_keys(cells)
    _claim(folder, config, how.resume)
    done = {cell.key for cell in finished(cells, folder) if cell.error is None}
    left = [cell for cell in cells if cell.key not in done]
    tell = how.progress or (lambda done, total: None)
    tell(len(done), len(cells))
    results = map_as_done(
        partial(_attempt, work), left, jobs=how.jobs, engine=how.engine, scheduler=how.scheduler
    )
    for count, (position, text) in enumerate(results, start=len(done) + 1):
        write_text(_file(folder, left[position].key), text)
        tell(count, len(cells))
    return list(finished(cells, folder))


def finished(cells: Iterable[Cell], folder: Path) -> Iterator[Done]:
    """The cells of a folder that are done, with or without an error, in the order given."""
    for cell in cells:
        path = _file(folder, cell.key)
        if path.exists():
            yield _read(path, cell)


def digest(config: Settings) -> str:
    """The name of a config: equal exactly where the configs are.

    >>> digest({"n": 500, "alpha": 1.0}) == digest({"alpha": 1.0, "n": 500})
    True
    """
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()


def _attempt(work: Work, cell: Cell) -> str:
    """One cell as the text of its file, made where the work is done: only text travels back."""
    start = time.perf_counter()
    rows, failure = [], None
    try:
        rows = work(cell.settings)
    except Exception as error:  # whatever it is, the other cells must not suffer from it
        failure = f"{type(error).__name__}: {error}"
    facts: dict[str, Any] = {
        "key": cell.key,
        "settings": dict(cell.settings),
        "rows": plain(rows, infinity=None),
        "error": failure,
    }
    facts["seconds"] = round(time.perf_counter() - start, 3)
    # As JSON has it: a tuple is a list there, and the digest is taken of what is read back.
    facts = json.loads(json.dumps(facts, allow_nan=False))
    return json.dumps({**facts, "digest": digest(facts)}, indent=1) + "\n"


def _read(path: Path, cell: Cell) -> Done:
    with explained(path, "read"):
        content = path.read_bytes()
    try:
        facts = json.loads(content)
        # Cells of earlier versions have none.
        if facts.pop("digest", None) not in (None, digest(facts)):
            raise ValueError("it is not what was written")
        read = Done(facts["key"], facts["settings"], facts["rows"], facts["error"], float(facts["seconds"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(
            f"'{path}' is damaged ({error}): delete it and pass --resume to run that cell again"
        ) from error
    if read.key != cell.key or plain(dict(cell.settings), infinity=None) != read.settings:
        raise StoreError(f"'{path}' belongs to another cell: delete it and pass --resume")
    return read


def _claim(folder: Path, config: Settings, resume: bool) -> None:
    """Make the folder the home of this config, or refuse."""
    path = folder / "sweep.json"
    if path.exists():
        there = _config_of(path)
        if digest(there) != digest(config):
            raise StoreError(
                f"'{folder}' holds a run with other settings ({_difference(there, config)}): "
                "choose another folder, or delete this one to start over"
            )
        if not resume:
            raise StoreError(
                f"'{folder}' holds an earlier run: pass --resume to continue it, or delete it to start over"
            )
        return
    if folder.is_dir() and any(folder.iterdir()):
        raise StoreError(f"'{folder}' holds other files: choose a new or empty folder")
    with explained(folder, "written"):
        (folder / "cells").mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps({"hash": digest(config), "config": config}, indent=1) + "\n")


def _config_of(path: Path) -> Settings:
    """The config of a folder, which must be the one whose hash stands beside it."""
    with explained(path, "read"):
        content = path.read_bytes()
    try:
        values = json.loads(content)
        config = dict(values["config"])
        if digest(config) != values["hash"]:
            raise ValueError("config and hash differ")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StoreError(
            f"'{path}' is damaged ({first_line(error)}): delete the folder '{path.parent}' to start over"
        ) from error
    return config


def _difference(earlier: Settings, config: Settings) -> str:
    names = sorted(name for name in {*earlier, *config} if earlier.get(name) != config.get(name))
    return "; ".join(
        f"{name}: {_short(earlier.get(name))} there, {_short(config.get(name))} here" for name in names
    )


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _file(folder: Path, key: str) -> Path:
    return folder / "cells" / f"{key}.json"


def _check_keys(cells: Sequence[Cell]) -> None:
    keys = [cell.key for cell in cells]
    for key in keys:
        if not _KEY.fullmatch(key):
            raise SettingsError(f"'{key}' cannot name a cell: use letters, digits and _ . = , - only")
    # Compared without case, as some file systems do.
    if len({key.lower() for key in keys}) < len(keys):
        twice = next(key for key in keys if sum(key.lower() == other.lower() for other in keys) > 1)
        raise SettingsError(f"two cells are named '{twice}': give each its own name")
