"""What a folder of finished parts belongs to, and which of them are finished.

    folder/_calibration.jsonl    a line that says what is done (run, tables, parts), then one for each part

Lines are only ever added, each when its part stands whole under its name; a line that a kill cut short
does not count, and its part is done again, as is one whose file is not what was written. Readers of Parquet
folders pass over names that begin with "_".
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxycal.errors import StoreError
from proxycal.files import explained, first_line, write_text
from proxycal.locks import clean
from proxycal.scale.digests import digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable

NAME = "_calibration.jsonl"
# Bytes of a file's name on the usual file systems.
LONGEST_NAME = 255


@dataclass(frozen=True, slots=True)
class Finished:
    """A part that stands: its file, the rows in it, those of them without an answer, and its digest."""

    name: str
    rows: int
    unanswered: int
    digest: str


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
        clean(folder)
        finished = [_finished(path, line) for line in lines]
        # A line that was cut short is ended here, so that the next one stands for itself.
        write_text(path, "".join(json.dumps(one) + "\n" for one in (first, *lines)))
    return {part.name: part for part in finished if _stands(folder, part)}


def record(folder: Path, part: Finished) -> None:
    """Add a finished part."""
    with explained(folder / NAME, "written"):
        _add(folder / NAME, asdict(part))


def abandon(folder: Path, parts: Iterable[str] = ()) -> None:
    """Leave no trace of work that finished nothing.

    parts : names of the work's files. Where one of them stands already, its ledger stays, for --resume.
    """
    with explained(folder, "written"):
        clean(folder)
        if any((folder / name).exists() for name in parts):
            return
        (folder / NAME).unlink(missing_ok=True)
        if not any(folder.iterdir()):
            folder.rmdir()


def remove(folder: Path, parts: Iterable[Finished]) -> None:
    """Remove a folder of parts that were joined: what was written, and the folder if it is empty then."""
    with explained(folder, "written"):
        for part in parts:
            (folder / part.name).unlink(missing_ok=True)
        abandon(folder)


def _add(path: Path, values: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(values) + "\n")
        lines.flush()
        os.fsync(lines.fileno())


def _lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines; the last one counts only if it was ended."""
    try:
        whole = path.read_text(encoding="utf-8").split("\n")[:-1]
        read = [json.loads(line) for line in whole]
        if not read or not all(isinstance(one, dict) for one in read):
            raise ValueError("no whole line")
    except (ValueError, RecursionError) as error:
        raise _damaged(path, first_line(error)) from error
    return read


def _finished(path: Path, line: dict[str, Any]) -> Finished:
    try:
        part = Finished(**line)
    except TypeError as error:
        raise _damaged(path, "a line has other fields") from error
    if [type(value) for value in asdict(part).values()] != [str, int, int, str]:
        raise _damaged(path, "a line has values of another kind")
    if Path(part.name).name != part.name:
        raise _damaged(path, "a part lies outside the folder")
    if len(part.name.encode(errors="surrogatepass")) > LONGEST_NAME:
        raise _damaged(path, "a part has a name that no file can have")
    return part


def _damaged(path: Path, why: str) -> StoreError:
    return StoreError(f"'{path}' is damaged ({why}): delete the folder '{path.parent}' to start over")


def _stands(folder: Path, part: Finished) -> bool:
    path = folder / part.name
    return path.is_file() and digest_of(path) == part.digest


def _refuse_other(folder: Path, earlier: dict[str, Any], facts: dict[str, Any]) -> None:
    if earlier == facts:
        return
    why = "made in another way"
    if earlier.get("run") != facts["run"]:
        why = "of another fit"
    elif earlier.get("tables") != facts["tables"]:
        known = earlier.get("tables")
        changed = [one["name"] for one in facts["tables"] if isinstance(known, list) and one not in known]
        why = f"of tables that have changed since ('{changed[0]}')" if changed else "of other tables"
    elif earlier.get("proxycal") != facts["proxycal"]:
        why = f"by proxycal {earlier.get('proxycal')}"
    raise StoreError(
        f"'{folder}' holds results {why}, which are never mixed with these: choose another folder, or delete "
        "this one to start over"
    )
