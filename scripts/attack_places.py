"""Attacks on run folders, outputs, disks and two processes at once; see `attack_cases.py`."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
from attack_cases import CASES, FIT, Seen, case, refused, shell

__all__ = ["CASES"]

# --- run folders and outputs ----------------------------------------------------------------------------


@case("outputs", "a run folder that is a link to a folder, saved twice")
def _link(here: Path) -> Seen:
    from proxycal import load

    model = load("run")
    Path("real").mkdir()
    Path("link").symlink_to("real")
    for _ in range(2):
        model.save("link")
    whole = Path("link").is_symlink() and Path("real/manifest.json").exists()
    return whole, "the link stays, the run is behind it" if whole else "the link is gone"


@case("outputs", "fit --out . in a run folder")
def _dot(here: Path) -> Seen:
    os.chdir("run")
    held, seen = refused("fit", "../table.csv", *FIT, "--out", ".", unchanged=here)
    try:
        os.getcwd()
    except OSError:
        return False, f"the current folder is gone; {seen}"
    return held, seen


@case("outputs", "fit --out . in an empty folder")
def _dot_empty(here: Path) -> Seen:
    Path("empty").mkdir()
    os.chdir("empty")
    return refused("fit", "../table.csv", *FIT, "--out", ".")


for _name, _args in {
    "calibrate --out over a file of the run": ["calibrate", "run", "table.csv", "--out", "run/rows.parquet"],
    "calibrate --out over the table": ["calibrate", "run", "table.csv", "--out", "table.csv"],
    "report --out over a table": ["report", "run", "--out", "table.csv"],
    "report --out over the run's results": ["report", "run", "--out", "run/results.json"],
    "totals --out over the table": ["totals", "run", "table.csv", "--out", "table.csv"],
    "totals --out over the run's history": ["totals", "run", "table.csv", "--out", "run/history.csv"],
    "audit --out over the table": ["audit", "run", "table.csv", "--n", "5", "--out", "table.csv"],
    "simulate --out over the run's history": ["simulate", "--n", "50", "--out", "run/history.csv"],
    "calibrate --out is the run folder": ["calibrate", "run", "table.csv", "--out", "run"],
    "fit a file of a run into that run": ["fit", "run/rows.parquet", *FIT, "--out", "run"],
}.items():
    case("outputs", _name)(lambda here, args=_args: refused(*args, unchanged=here))


@case("outputs", "an overwritten file keeps its permissions")
def _mode(here: Path) -> Seen:
    Path("out.csv").write_text("old")
    Path("out.csv").chmod(0o600)
    code = shell("calibrate", "run", "table.csv", "--out", "out.csv")[0]
    mode = Path("out.csv").stat().st_mode & 0o777
    return code == 0 and mode == 0o600, f"mode {mode:o}, it was 600"


@case("outputs", "a hidden folder of the user beside a run")
def _hidden(here: Path) -> Seen:
    from proxycal import load

    Path(".run.previous").mkdir()
    Path(".run.previous/thesis.txt").write_text("mine")
    load("run").save("run")
    there = Path(".run.previous/thesis.txt").exists()
    return there, "its file is still there" if there else "its file is gone"


@case("outputs", "what a killed program left beside an output")
def _left(here: Path) -> Seen:
    for name in (".0123456789ab.tmp.out.csv", ".proxycal-0123456789ab.csv"):
        Path(name).write_text("half")
    shell("simulate", "--n", "50", "--out", "out.csv")
    left = [path.name for path in here.glob(".proxycal-*")]
    return not left, f"left: {left or 'nothing'}"


@case("outputs", "names of 250 characters", quick=False)
def _long(here: Path) -> Seen:
    name = "x" * 246 + ".csv"
    code, _, err = shell("calibrate", "run", "table.csv", "--out", name)
    again, _, more = shell("fit", "table.csv", *FIT, "--out", "r" * 250)
    return code == again == 0, f"exits {code} and {again} {err}{more}"


# --- two processes, one run folder ----------------------------------------------------------------------


@case("races", "a run is read while another process saves it", quick=False, seconds=60)
def _race(here: Path) -> Seen:
    import time

    from proxycal import load
    from proxycal.errors import ProxycalError

    model = load("run")
    pid = os.fork()
    if pid == 0:
        while True:
            with contextlib.suppress(ProxycalError):
                model.save("run")
    failed, reads, until = [], 0, time.monotonic() + 15
    try:
        while time.monotonic() < until:
            reads += 1
            try:
                load("run")
            except ProxycalError as error:
                failed.append(str(error))
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    return not failed, f"{len(failed)} of {reads} reads fail {failed[:1]}"


@case("races", "a second program writes the folder that a first one is writing")
def _two(here: Path) -> Seen:
    from proxycal.locks import alone

    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        with alone(here / "parts"):
            os.write(writing, b"1")
            time.sleep(60)
        os._exit(0)
    os.read(reading, 1)
    try:
        held, seen = refused("calibrate", "run", "table.csv", "--out", "parts")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return held and f"process {pid} on" in seen, seen


@case("races", "refute --jobs 2 is killed: do its workers live on", quick=False, seconds=120)
def _orphans(here: Path) -> Seen:
    command = [sys.executable, "-m", "proxycal", "refute", "run", "--repetitions", "200", "--jobs", "2"]
    program = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until, workers = time.monotonic() + 40, set()
    while len(workers) < 2 and time.monotonic() < until and program.poll() is None:
        workers |= {pid for pid in _children(program.pid) if b"LokyProcess" in _command(pid)}
        time.sleep(0.05)
    program.kill()
    program.wait()
    for _ in range(400):  # one that was starting has to load the package before it can notice
        alive = [pid for pid in workers if b"LokyProcess" in _command(pid)]
        if not alive:
            break
        time.sleep(0.1)
    for pid in alive:
        os.kill(pid, signal.SIGKILL)
    return bool(workers) and not alive, f"{len(alive)} of {len(workers)} workers live on"


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _children(pid: int) -> set[int]:
    found = set()
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found |= {int(child) for child in task.read_text().split()}
    return found


# --- places that cannot be written ----------------------------------------------------------------------


@case("outputs", "fit --out is a link that leads nowhere")
def _dangling(here: Path) -> Seen:
    Path("link").symlink_to("nowhere/at/all")
    code, _, err = shell("fit", "table.csv", *FIT, "--out", "link")
    there = Path("nowhere/at/all/manifest.json").exists()
    whole = Path("link").is_symlink() and (code, there) in ((0, True), (2, False))
    return whole, f"exit {code}: {err or 'the run is where the link leads'}"


@case("outputs", "fit --out is a link to a folder, from the shell")
def _linked(here: Path) -> Seen:
    Path("real").mkdir()
    Path("link").symlink_to("real")
    codes = [shell("fit", "table.csv", *FIT, "--out", "link", *more)[0] for more in ([], ["--force"])]
    whole = Path("link").is_symlink() and Path("real/manifest.json").exists()
    return codes == [0, 0] and whole, f"exits {codes}, the link {'stays' if whole else 'is gone'}"


def _no_fit(*args: object) -> Seen:
    """Refused, and before any work."""
    from proxycal.model import ProxyCalibrator

    def fitted(*_: object, **__: object) -> None:
        raise AssertionError("the fit began")

    ProxyCalibrator.fit_files = fitted  # type: ignore[assignment, method-assign]
    return refused(*args)


@case("outputs", "fit --out is a mount point")
def _mount(here: Path) -> Seen:
    place = Path("disk")
    place.mkdir()
    if (
        os.geteuid()
        or subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place], capture_output=True).returncode
    ):
        os.path.ismount = lambda path: Path(path).name == "disk"  # where nothing can be mounted
    try:
        return _no_fit("fit", "table.csv", *FIT, "--out", place)
    finally:
        subprocess.run(["umount", "-l", place], capture_output=True, check=False)


@case("outputs", "fit --out in a folder that may not be written")
def _read_only(here: Path) -> Seen:
    place = Path("locked")
    place.mkdir(mode=0o555)
    made = os.mkdir
    if os.geteuid() == 0:  # who may write everywhere but to a disk that is read-only

        def mkdir(path: str, *more: object, **named: object) -> None:
            if "locked" in str(path):
                raise OSError(errno.EROFS, "Read-only file system")
            made(path, *more, **named)

        os.mkdir = mkdir
    return _no_fit("fit", "table.csv", *FIT, "--out", place / "run")


@case("outputs", "the disk fills up after the first finished part")
def _full(here: Path) -> Seen:
    from proxycal.scale import ledger

    real = ledger.os.fsync
    calls = []

    def fsync(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 4:  # that of the line that says the part is finished
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    ledger.os.fsync = fsync
    shutil.copy("table.csv", "other.csv")
    command = ["calibrate", "run", "table.csv", "other.csv", "--jobs", "1", "--out", "parts"]
    code, _, err = shell(*command)
    ledger.os.fsync = real
    again, _, more = shell(*command, "--resume")
    whole = again == 0 and all(len(pd.read_csv(path)) == 240 for path in Path("parts").glob("*.csv"))
    return code == 2 and whole, f"exit {code}: {err} then --resume: exit {again} {more}"


@case("outputs", "copies that a killed app left")
def _app_left(here: Path) -> Seen:
    from proxycal.app.workspace import Workspaces, remove_left

    with tempfile.TemporaryDirectory() as name:
        tempfile.tempdir = name
        pid = os.fork()
        if pid == 0:
            (Workspaces().open().new_file(".csv")).write_text("data of a user")
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(pid, 0)
        before = len(list(Path(name).iterdir()))
        remove_left()
        left = [path.name for path in Path(name).iterdir()]
    return before > 0 and not left, f"left: {left or 'nothing'} of {before}"
