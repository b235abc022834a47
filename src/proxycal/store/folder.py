"""Run folders: a fit as plain data, checked when it is read.

    config.toml  roles.json  encoder.json  results.json  tensors.safetensors  labels.parquet
    rows.parquet  history.csv  versions.json  manifest.json (sha256 of each, format version)

Nothing in a run folder is ever executed: no pickle is written or read. Two files may lie beside these and are
not listed: `report.html`, made from them, and `questions.json`, the refutations and the power asked of this
fit, which names the manifest it belongs to. Tables are read and written by `proxycal.files`.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import os
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import safetensors
import safetensors.numpy

from proxycal.errors import StoreError
from proxycal.files import explained, first_line, sync, write_text
from proxycal.locks import PATIENCE, alone, hidden_name, holder, temporary_folder
from proxycal.store.place import (
    MANIFEST,
    QUESTIONS,
    REPORT,
    RUN_FILES,
    check_run_folder,
    refuse_foreign,
)

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 4
# Seconds between two looks at a folder that is being replaced.
_LOOK = 0.02
# Formats that run code when they are read. None is ever ours, so one in a run folder was put there.
_EXECUTABLE = (".pkl", ".pickle", ".pt", ".pth", ".joblib", ".dill", ".npy", ".npz")


@dataclass(frozen=True, slots=True)
class Run:
    """What a run folder holds, as plain values.

    config : the settings as TOML text. roles, encoder, results, versions : JSON values.
    tensors : arrays of the fit by name. labels : what each fitted row is called, (n,) text.
    rows : fitted rows to look at. history : curve -> (steps,) values.
    questions : what was asked of the fit since, name -> JSON values.
    """

    config: str
    roles: dict[str, Any]
    encoder: dict[str, Any]
    results: dict[str, Any]
    versions: dict[str, str]
    tensors: dict[str, np.ndarray]
    labels: np.ndarray
    rows: pd.DataFrame
    history: dict[str, np.ndarray]
    questions: dict[str, Any] = field(default_factory=dict)


def save_run(folder: str | os.PathLike[str], run: Run) -> None:
    """Write a run folder, whole or not at all; an earlier run of that name is replaced.

    Other files in an earlier run folder (a calibrated table, notes) are kept; its report is not, as it
    describes the earlier run.
    """
    check_run_folder(folder)
    folder = Path(os.path.realpath(folder))
    with explained(folder, "written"):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with alone(folder), temporary_folder(folder.parent, ".run") as temporary:
            _settle(folder)
            refuse_foreign(folder)
            _write_parts(temporary, run)
            _put(temporary, folder)
            sync(folder.parent)
            _settle(folder)


def load_run(folder: str | os.PathLike[str]) -> Run:
    """Read a run folder after checking every file against the manifest."""
    given, folder = folder, Path(os.path.realpath(folder))
    with explained(folder, "read"):
        parts, questions = _whole(folder, Path(given))
    return _parse(folder, parts, questions)


def _whole(folder: Path, given: Path) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The files of a run and its questions; while another program replaces it, the old or the new whole."""
    until = time.monotonic() + PATIENCE
    while True:
        before = _identity(folder)
        try:
            _recover(folder)
            if not folder.is_dir():
                raise StoreError(
                    f"there is no run folder '{given}': name the folder that `proxycal fit --out` wrote"
                )
            return _verified_parts(folder), _questions(folder)
        except (StoreError, OSError):
            settled = _identity(folder) == before and not holder(folder)
            if settled or time.monotonic() > until:
                raise
        time.sleep(_LOOK)


def _identity(folder: Path) -> tuple[int, ...]:
    """What changes when a run folder is replaced, or something is asked of it."""
    found: list[int] = []
    for path in (folder, folder / MANIFEST, folder / QUESTIONS):
        with contextlib.suppress(OSError):
            seen = path.stat()
            found += [seen.st_dev, seen.st_ino, 0 if path is folder else seen.st_mtime_ns]
    return tuple(found)


def run_digest(folder: str | os.PathLike[str]) -> str:
    """The name of exactly this fit: the sum of its manifest, which holds the sums of all its files."""
    folder = Path(os.path.realpath(folder))
    with explained(folder, "read"):
        return _digest(_contained_bytes(folder, MANIFEST))


def keep_questions(folder: str | os.PathLike[str], questions: dict[str, Any]) -> None:
    """Write what was asked of the fit of a run folder beside it, bound to exactly this fit.

    What another program asked meanwhile is kept.
    """
    folder = Path(os.path.realpath(folder))
    with explained(folder, "written"), alone(folder):
        values = {"manifest": run_digest(folder), "questions": _questions(folder) | questions}
        write_text(folder / QUESTIONS, _json_bytes(values).decode())


def _questions(folder: Path) -> dict[str, Any]:
    """What was asked of this fit, nothing if nothing was."""
    if not (folder / QUESTIONS).exists():
        return {}
    try:
        values = json.loads(_contained_bytes(folder, QUESTIONS))
        belongs, questions = values["manifest"], dict(values["questions"])
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise _stale(folder, f"cannot be understood ({type(error).__name__})") from error
    if belongs != _digest((folder / MANIFEST).read_bytes()):
        raise _stale(folder, "belongs to another fit")
    return questions


def _digest(part: bytes) -> str:
    return hashlib.sha256(part).hexdigest()


def _stale(folder: Path, why: str) -> StoreError:
    return StoreError(
        f"'{folder / QUESTIONS}' {why}: remove it, then ask again with `proxycal refute` or `proxycal power`"
    )


def _write_parts(folder: Path, run: Run) -> None:
    rows, labels = io.BytesIO(), io.BytesIO()
    run.rows.to_parquet(rows, index=False)
    pq.write_table(pa.table({"label": pa.array(run.labels.tolist(), pa.string())}), labels)
    parts = {
        "config.toml": run.config.encode(),
        "roles.json": _json_bytes(run.roles),
        "encoder.json": _json_bytes(run.encoder),
        "results.json": _json_bytes(run.results),
        "tensors.safetensors": safetensors.numpy.save(run.tensors),
        "labels.parquet": labels.getvalue(),
        "rows.parquet": rows.getvalue(),
        "history.csv": _history_csv(run.history).encode(),
        "versions.json": _json_bytes(run.versions),
    }
    sums = {name: {"sha256": _digest(part), "bytes": len(part)} for name, part in parts.items()}
    parts[MANIFEST] = _json_bytes({"format": FORMAT, "files": sums})
    if run.questions:
        values = {"manifest": _digest(parts[MANIFEST]), "questions": run.questions}
        parts[QUESTIONS] = _json_bytes(values)
    for name, part in parts.items():
        (folder / name).write_bytes(part)
        sync(folder / name)
    sync(folder)


def _verified_parts(folder: Path) -> dict[str, bytes]:
    """The bytes of every file of the run, or one StoreError that names the first thing wrong with it."""
    for entry in sorted(folder.iterdir()):
        if entry.suffix.lower() in _EXECUTABLE:
            raise StoreError(
                f"'{entry}' was put into the run folder by something else: proxycal never writes or reads "
                "such files, since reading them can run code; remove it if you trust the rest"
            )
    manifest = _manifest(folder)
    parts = {}
    for name in RUN_FILES:
        expected = manifest[name]
        part = _contained_bytes(folder, name)
        if len(part) < expected["bytes"]:
            raise _damaged(folder, name, f"is cut short ({len(part)} of {expected['bytes']} bytes)")
        if _digest(part) != expected["sha256"]:
            raise _damaged(folder, name, "was changed or swapped after the run was saved")
        parts[name] = part
    return parts


def _manifest(folder: Path) -> dict[str, dict[str, Any]]:
    if not (folder / MANIFEST).exists():
        raise StoreError(
            f"'{folder}' is not a run folder (no {MANIFEST}): name one that `proxycal fit --out` wrote"
        )
    try:
        manifest = json.loads(_contained_bytes(folder, MANIFEST))
        version, files = manifest["format"], manifest["files"]
        if type(version) is not int or version < 1:
            raise ValueError("no format")
        if version > FORMAT:
            raise StoreError(
                f"run folder '{folder}' was written by a newer proxycal (format {version}, this one reads "
                f"up to {FORMAT}): upgrade with `pip install --upgrade proxycal`"
            )
        if version < FORMAT:
            raise StoreError(
                f"run folder '{folder}' was written by an older proxycal (format {version}, this one reads "
                f"{FORMAT}): run `proxycal fit` again"
            )
        return {
            name: {"sha256": str(files[name]["sha256"]), "bytes": int(files[name]["bytes"])}
            for name in RUN_FILES
        }
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError) as error:
        raise _damaged(folder, MANIFEST, f"cannot be understood ({type(error).__name__})") from error


def _contained_bytes(folder: Path, name: str) -> bytes:
    path = folder / name
    if not path.exists() and not path.is_symlink():
        raise _damaged(folder, name, "is missing")
    if not path.resolve().is_relative_to(folder.resolve()):
        raise _damaged(folder, name, "is a link that leaves the folder")
    if not path.is_file():
        raise _damaged(folder, name, "is not an ordinary file")
    return path.read_bytes()


def _parse(folder: Path, parts: dict[str, bytes], questions: dict[str, Any]) -> Run:
    # The sums only prove that the files are those of the manifest, not that either is sound.
    name = ""
    try:
        values = {}
        for name in ("roles.json", "encoder.json", "results.json", "versions.json"):
            values[name] = json.loads(parts[name])
            if not isinstance(values[name], dict):
                raise ValueError("not an object")
        name = "config.toml"
        config = parts[name].decode()
        name = "tensors.safetensors"
        tensors = safetensors.numpy.load(parts[name])
        name = "labels.parquet"
        column = pq.read_table(io.BytesIO(parts[name])).column("label").to_pylist()
        labels = np.array([str(label) for label in column], dtype=object)
        name = "rows.parquet"
        rows = pq.read_table(io.BytesIO(parts[name])).to_pandas()
        name = "history.csv"
        history = _history_from_csv(parts[name].decode())
    except (
        ValueError,
        TypeError,
        LookupError,
        ArithmeticError,
        RuntimeError,
        OSError,
        AttributeError,
        NotImplementedError,
        csv.Error,
        safetensors.SafetensorError,
        pa.ArrowException,
    ) as error:
        raise _damaged(folder, name, f"cannot be understood ({first_line(error)})") from error
    return Run(
        config=config,
        roles=values["roles.json"],
        encoder=values["encoder.json"],
        results=values["results.json"],
        versions=values["versions.json"],
        tensors=tensors,
        labels=labels,
        rows=rows,
        history=history,
        questions=questions,
    )


def _previous(folder: Path) -> Path:
    return hidden_name("old", folder)


def _put(temporary: Path, folder: Path) -> None:
    """Give a whole new run its name, and the permissions of the earlier one, which goes aside for an instant.

    Two folders cannot be exchanged in one step everywhere.
    """
    if not folder.exists():
        os.rename(temporary, folder)
        return
    shutil.copymode(folder, temporary)
    for name in (*RUN_FILES, MANIFEST):
        if (folder / name).is_file():
            shutil.copymode(folder / name, temporary / name)
    os.rename(folder, _previous(folder))
    try:
        os.rename(temporary, folder)
    except OSError:
        os.rename(_previous(folder), folder)
        raise


def _recover(folder: Path) -> None:
    """Undo or finish a save that was killed between its two renames, unless a program is still at it."""
    if (_previous(folder) / MANIFEST).exists() and not holder(folder):
        # Where nothing may be written, the run is read as it is.
        with contextlib.suppress(OSError, StoreError), alone(folder, patience=0):
            _settle(folder)


def _settle(folder: Path) -> None:
    """After a save, also a killed one: the run has its name and the user's files, no other is left."""
    previous = _previous(folder)
    if not (previous / MANIFEST).exists():
        return
    if not folder.exists():
        os.rename(previous, folder)
        return
    ours = (*RUN_FILES, REPORT, QUESTIONS, MANIFEST)
    for entry in list(previous.iterdir()):
        if entry.name not in ours and not (folder / entry.name).exists():
            os.rename(entry, folder / entry.name)
    # The manifest last: it says that the folder is one of ours.
    for name in ours:
        (previous / name).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        previous.rmdir()


def _damaged(folder: Path, name: str, why: str) -> StoreError:
    return StoreError(
        f"run folder '{folder}' is damaged: {name} {why}; restore it from a copy or run `proxycal fit` again"
    )


def _json_bytes(values: dict[str, Any]) -> bytes:
    # allow_nan=False: NaN is not JSON, and a number that silently became one should fail here.
    return (json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False, sort_keys=True) + "\n").encode()


def _history_csv(history: dict[str, np.ndarray]) -> str:
    lines = ["curve,step,value"]
    lines += [
        f"{name},{step},{value!r}"
        for name, curve in sorted(history.items())
        for step, value in enumerate(curve.tolist())
    ]
    return "\n".join(lines) + "\n"


def _history_from_csv(text: str) -> dict[str, np.ndarray]:
    curves: dict[str, list[float]] = {}
    for line in csv.DictReader(text.splitlines()):
        curves.setdefault(line["curve"], []).append(float(line["value"]))
    return {name: np.array(values) for name, values in curves.items()}
