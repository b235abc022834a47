"""What a folder of finished parts belongs to, and which of them are finished.

    folder/_calibration.jsonl    a line that says what is done (run, tables, parts), then one for each part

Lines are only ever added, each when its part stands whole under its name; a line that a kill cut short
does not count, and its part is done again. Readers of Parquet folders pass over names that begin with "_".
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from proxycal.errors import StoreError
from proxycal.files import explained, write_text

if TYPE_CHECKING:
    from pathlib import Path

NAME = "_calibration.jsonl"


@dataclass(frozen=True, slots=True)
class Finished:
    """A part that stands: its file, the rows in it, those of them without an answer, and its size."""

    name: str
    rows: int
    unanswered: int
    bytes: int


def claim(folder: Path, facts: dict[str, Any], resume: bool) -> dict[str, Finished]:
    """Make the folder the home of this work, or refuse; return the parts that are finished, by name.

    facts : plain values that say what the work is. A folder of other facts is never gone on with.
    """
    path = folder / NAME
    with explained(folder, "written"):
        if not path.exists():
            if folder.is_dir() and any(folder.iterdir()):
                raise StoreError(f"'{folder}' holds other files: choose a new or empty folder for --out")
            folder.mkdir(parents=True, exist_ok=True)
            _add(path, facts)
            return {}
        first, *lines = _lines(path)
        _refuse_other(folder, first, facts)
        if not resume:
            raise StoreError(
                f"'{folder}' holds an earlier run of the same work: pass --resume to go on with it, or "
                "delete it to start over"
            )
        _clear(folder)
        # A line that was cut short is ended here, so that the next one stands for itself.
        write_text(path, "".join(json.dumps(one) + "\n" for one in (first, *lines)))
    finished = {one["name"]: Finished(**one) for one in lines}
    return {name: one for name, one in finished.items() if _stands(folder, one)}


def record(folder: Path, part: Finished) -> None:
    """Add a finished part."""
    with explained(folder / NAME, "written"):
        _add(folder / NAME, asdict(part))


def abandon(folder: Path) -> None:
    """Leave no trace of work that finished nothing."""
    with explained(folder, "written"):
        (folder / NAME).unlink(missing_ok=True)
        _clear(folder)
        if not any(folder.iterdir()):
            folder.rmdir()


def _clear(folder: Path) -> None:
    """Remove what a killed worker was writing."""
    for left in folder.glob(".*.tmp.*"):
        left.unlink(missing_ok=True)


def _add(path: Path, values: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(values) + "\n")
        lines.flush()
        os.fsync(lines.fileno())


def _lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines; the last one counts only if it was ended."""
    whole = path.read_text(encoding="utf-8").split("\n")[:-1]
    try:
        read = [json.loads(line) for line in whole]
        if not read or not all(isinstance(one, dict) for one in read):
            raise ValueError("no whole line")
    except ValueError as error:
        raise StoreError(
            f"'{path}' is damaged ({error}): delete the folder '{path.parent}' to start over"
        ) from error
    return read


def _stands(folder: Path, part: Finished) -> bool:
    path = folder / part.name
    return path.is_file() and path.stat().st_size == part.bytes


def _refuse_other(folder: Path, earlier: dict[str, Any], facts: dict[str, Any]) -> None:
    if earlier == facts:
        return
    why = "made in another way"
    if earlier.get("run") != facts["run"]:
        why = "of another fit"
    elif earlier.get("tables") != facts["tables"]:
        known = {one["name"]: one for one in earlier.get("tables", [])}
        changed = [one["name"] for one in facts["tables"] if known.get(one["name"]) != one]
        why = f"of tables that have changed since ('{changed[0]}')" if changed else "of other tables"
    elif earlier.get("proxycal") != facts["proxycal"]:
        why = f"by proxycal {earlier.get('proxycal')}"
    raise StoreError(
        f"'{folder}' holds results {why}, which are never mixed with these: choose another folder, or delete "
        "this one to start over"
    )
