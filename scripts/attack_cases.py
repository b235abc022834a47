"""The attacks of `attacks.py`: each is a function of a folder with a table and a run, and says what it saw.

They use what every version has: the command line, and the public functions of the package.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import re
import socket
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Callable

Seen = tuple[bool, str]
ROLES = ["--outcome", "y", "--proxies", "p_1,p_2,p_3", "--environment", "e_1,e_2"]
FIT = [*ROLES, "--direction", "over", "--method", "moments"]


@dataclass(frozen=True)
class Case:
    """One attack; `item` is the part of the package that it is about."""

    item: str
    name: str
    run: Callable[[Path], Seen]
    quick: bool = True
    seconds: float = 0


CASES: list[Case] = []


def case(item: str, name: str, quick: bool = True, seconds: float = 0) -> Callable[..., Callable[..., Seen]]:
    """Register an attack."""

    def add(run: Callable[[Path], Seen]) -> Callable[[Path], Seen]:
        CASES.append(Case(item, name, run, quick, seconds))
        return run

    return add


def prepare(folder: Path) -> Path:
    """A folder with table.csv, table.parquet and the run of a fit, copied for every attack."""
    import proxycal
    import proxycal.app.serve
    import proxycal.report.terminal
    import proxycal.scale.calibrate  # loaded once, so that every attack begins at once

    here = folder / "model"
    here.mkdir()
    sim = proxycal.simulate(n=240, d_z=2, d_e=2, n_proxies=3, alpha=6.0, random_state=1)
    sim.table.to_csv(here / "table.csv", index=False)
    sim.table.to_parquet(here / "table.parquet")
    model = proxycal.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(sim.table)
    model.save(here / "run")
    model.report(here / "run" / "report.html")
    return here


def shell(*args: object) -> tuple[int, str, str]:
    """Exit code and both streams of a command."""
    from proxycal.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(arg) for arg in args])
    return code, out.getvalue(), err.getvalue()


def refused(*args: object, unchanged: Path | None = None) -> Seen:
    """Exit 2 with one line, and nothing changed."""
    before = contents(unchanged) if unchanged else {}
    code, _, err = shell(*args)
    changed = unchanged is not None and contents(unchanged) != before
    fine = code == 2 and err.count("\n") == 1 and "bug in proxycal" not in err and "defect" not in err
    return fine and not changed, f"exit {code}: {err}" + (" FILES CHANGED" if changed else "")


def contents(folder: Path) -> dict[str, bytes | None]:
    """Every file below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


# --- nothing listens beyond this computer ---------------------------------------------------------------


@case("network", "--engine dask opens a port to the network", quick=False, seconds=60)
def _dask(here: Path) -> Seen:
    from proxycal.engine import cluster

    with cluster(1):
        held = {os.readlink(fd) for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink()}
        lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        open_to = {
            line[1].split(":")[0] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in held
        }
    return open_to == {"0100007F"}, f"listens on {sorted(open_to)} (0100007F is 127.0.0.1)"


def page(**scope: object) -> list[dict]:
    """What the app sends for one request or the messages of a socket."""
    import asyncio

    from proxycal.app import serve

    try:
        app = serve.build(8000, "s3cret")
    except TypeError:
        app = serve.build(8000)
    messages = list(scope.pop("messages", [{"type": "http.request"}]))
    headers = [(b"host", b"127.0.0.1:8000"), *scope.pop("headers", [])]
    scope = {"type": "http", "method": "GET", "path": "/", "raw_path": b"/", "scheme": "http",
             "headers": headers, "query_string": b"", "http_version": "1.1", "root_path": "", "app": None,
             "server": ("127.0.0.1", 8000), "client": ("127.0.0.1", 1), **scope}  # fmt: skip
    sent: list[dict] = []

    async def talk() -> None:
        async def receive() -> dict:
            if messages:
                return messages.pop(0)
            await asyncio.sleep(1.0)
            return {"type": "websocket.disconnect", "code": 1000, "reason": "the test is over"}

        async def send(message: dict) -> None:
            sent.append(message)

        await app(scope, receive, send)

    with contextlib.redirect_stderr(io.StringIO()) as errors:
        asyncio.run(talk())
    return [*sent, {"stderr": errors.getvalue()}]


@case("network", "another user of the computer asks for the app's page")
def _token(here: Path) -> Seen:
    status = page()[0]["status"]
    return status == 403, f"HTTP {status} without the token"


@case("network", "the app's answers lack protective headers")
def _headers(here: Path) -> Seen:
    sent = page(query_string=b"token=s3cret")
    names = {name.decode().lower() for name, _ in sent[0]["headers"]}
    wanted = {"cross-origin-opener-policy", "permissions-policy", "cache-control", "content-security-policy"}
    return wanted <= names and sent[0]["status"] == 200, f"missing: {sorted(wanted - names) or 'none'}"


@case("network", "another site asks with the browser's cookie")
def _site(here: Path) -> Seen:
    cookie = [(b"cookie", b"proxycal-8000=s3cret"), (b"sec-fetch-site", b"cross-site")]
    status = page(headers=cookie)[0]["status"]
    return status == 403, f"HTTP {status}"


def crafted(text: str) -> Seen:
    """Whether the session lives on after a message."""
    init = {"type": "websocket.receive", "text": json.dumps({"method": "init", "data": {}})}
    sent = page(
        type="websocket", path="/websocket/", subprotocols=[],
        headers=[(b"origin", b"http://127.0.0.1:8000"), (b"cookie", b"proxycal-8000=s3cret")],
        messages=[{"type": "websocket.connect"}, init, {"type": "websocket.receive", "text": text}],
    )  # fmt: skip
    kinds = [message.get("type") for message in sent]
    printed = sent[-1]["stderr"]
    fine = "websocket.close" not in kinds and "Traceback" not in printed and "websocket.send" in kinds
    return (
        fine,
        "the page lives on" if fine else f"the session ends: {printed.splitlines()[-1:] or kinds[-2:]}",
    )


for _name, _text in {
    "no JSON": "{",
    "a list": "[1]",
    "no method": "{}",
    "an unknown method": '{"method": "eval", "data": {}}',
    "a second init": '{"method": "init", "data": {}}',
    "an input with two colons": '{"method": "update", "data": {"a:b:c": 1}}',
    "an input of an unknown type": '{"method": "update", "data": {"seed:nothing": 1}}',
    "data that is a number": '{"method": "update", "data": 3}',
}.items():
    case("network", f"crafted socket message: {_name}", quick=_name in ("no JSON", "a second init"))(
        lambda here, text=_text: crafted(text)
    )


# --- bounded memory and time ----------------------------------------------------------------------------


def upload(path: Path, name: str) -> Seen:
    """Whether the app refuses a file."""
    from proxycal.app.tables import read_upload
    from proxycal.errors import ProxycalError

    try:
        read_upload(path, name)
    except ProxycalError as error:
        return True, str(error)
    return False, "was read"


@case("limits", "a workbook of 1 KB whose only row is numbered 100,000,000")
def _xlsx(here: Path) -> Seen:
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["y"])
    book.active.append([1])
    book.save("t.xlsx")
    with zipfile.ZipFile("t.xlsx") as old, zipfile.ZipFile("far.xlsx", "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.namelist():
            text = old.read(part)
            if part.endswith("sheet1.xml"):
                text = re.sub(rb"<dimension[^>]*/>", b"", text)
                text = text.replace(b'r="2"', b'r="100000000"').replace(b'"A2"', b'"A100000000"')
            new.writestr(part, text)
    return upload(here / "far.xlsx", "far.xlsx")


@case("limits", "a workbook with one cell in the last column of row 1,000,000")
def _wide_xlsx(here: Path) -> Seen:
    import openpyxl

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    sheet.append([f"c{number}" for number in range(16_384)])
    book.save("t.xlsx")
    with zipfile.ZipFile("t.xlsx") as old, zipfile.ZipFile("far.xlsx", "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.namelist():
            text = old.read(part)
            if part.endswith("sheet1.xml"):
                text = text.replace(
                    b"</sheetData>", b'<row r="1000000"><c r="A1000000"><v>1</v></c></row></sheetData>'
                )
            new.writestr(part, text)
    return upload(here / "far.xlsx", "far.xlsx")


@case("limits", "a CSV of 100,000 columns")
def _columns(here: Path) -> Seen:
    names = ["y", "p_1", "p_2", "p_3", "e_1", "e_2", *(f"c{i}" for i in range(100_000))]
    Path("wide.csv").write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    return refused("check", "wide.csv", *ROLES)


@case(
    "limits", "a Parquet file of a megabyte that holds 40,000,000 rows of 6 columns", quick=False, seconds=60
)
def _parquet(here: Path) -> Seen:
    column = pa.array(np.zeros(1_000_000))
    table = pa.table(dict.fromkeys(("y", "p_1", "p_2", "p_3", "e_1", "e_2"), column))
    with pq.ParquetWriter("big.parquet", table.schema) as writer:
        for _ in range(40):
            writer.write_table(table)
    return refused("check", "big.parquet", *ROLES)


@case("limits", "a gzip file of 3 MB that holds 3 GB of text", quick=False, seconds=120)
def _bomb(here: Path) -> Seen:
    with gzip.open("bomb.csv.gz", "wb", compresslevel=1) as packed:
        packed.write(b"y,p_1,p_2,p_3,e_1,e_2\n")
        piece = b"1,1,1,1,1,1\n" * 100_000
        for _ in range(2500):
            packed.write(piece)
    return refused("check", "bomb.csv.gz", *ROLES)


@case("limits", "--jobs 100000")
def _jobs(here: Path) -> Seen:
    from proxycal.engine import map_as_done

    asked: list[int] = []

    class Recorder:
        def __init__(self, n_jobs: int, **_: object) -> None:
            asked.append(n_jobs)
            raise KeyboardInterrupt

    joblib.Parallel = Recorder
    with contextlib.suppress(KeyboardInterrupt):
        list(map_as_done(abs, range(50), jobs=100_000))
    return asked == [] or asked[0] <= joblib.cpu_count(), f"{asked or [1]} processes"


@case("limits", "no memory left while a CSV is read")
def _memory(here: Path) -> Seen:
    def fail(*_: object, **__: object) -> None:
        raise pd.errors.ParserError("Error tokenizing data. C error: out of memory")

    pd.read_csv = fail
    held, seen = refused("check", "table.csv", *ROLES)
    return held and "out of memory while" in seen, seen


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


# --- tampered and damaged input -------------------------------------------------------------------------


@case("tampered", "Parquet text that is no UTF-8")
def _utf8(here: Path) -> Seen:
    table = pq.read_table("table.parquet")
    table = table.append_column("who", pa.array(["MARKMARK", "a"] * (table.num_rows // 2)))
    pq.write_table(table, "t.parquet", use_dictionary=False, compression="none")
    content = Path("t.parquet").read_bytes()
    Path("t.parquet").write_bytes(content.replace(b"MARKMARK", b"\xff\xfe\xff\xfe\xff\xfe\xff\xfe"))
    code, _, err = shell("fit", "t.parquet", *FIT[:-5], "e_1,who", *FIT[-4:], "--out", "new")
    return code in (0, 2) and err.count("\n") <= 1, f"exit {code}: {err}"


@case("tampered", "Parquet with odd pandas metadata")
def _metadata(here: Path) -> Seen:
    table = pq.read_table("table.parquet")
    seen = []
    for text in (b"{", b"[]", b'{"index_columns": [7], "columns": 3}', b'{"index_columns": ["nope"]}'):
        pq.write_table(table.replace_schema_metadata({b"pandas": text}), "t.parquet")
        code, _, err = shell("check", "t.parquet", *ROLES)
        seen.append((code, err))
    return all(code in (0, 2) for code, _ in seen), str([f"exit {code} {err}" for code, err in seen if code])


@case("tampered", "Parquet with flipped bits, 100 times", quick=False, seconds=60)
def _flips(here: Path) -> Seen:
    rng = np.random.default_rng(0)
    content = Path("table.parquet").read_bytes()
    codes, strange = [], ""
    for _ in range(100):
        flipped = bytearray(content)
        for at in rng.integers(0, len(content), 3):
            flipped[at] ^= 1 << int(rng.integers(8))
        Path("t.parquet").write_bytes(flipped)
        code, _, err = shell("totals", "run", "t.parquet")
        codes.append(code)
        strange = err if code == 1 else strange
    return set(codes) <= {0, 2}, f"exits {sorted(set(codes))} {strange}"


for _text in ("0", "-1", "1e400", "true", "null", '"3"', "[]"):

    @case("tampered", f"a manifest of format {_text}")
    def _format(here: Path, text: str = _text) -> Seen:
        path = Path("run/manifest.json")
        values = json.loads(path.read_text())
        path.write_text(json.dumps(values | {"format": "FORMAT"}).replace('"FORMAT"', text))
        held, seen = refused("report", "run", "--out", "page.html")
        return held and "an older proxycal" not in seen, seen


@case("tampered", "a damaged sweep.json on --resume")
def _sweep(here: Path) -> Seen:
    from proxycal.errors import ProxycalError
    from proxycal.studies.sweep import Cell, How, sweep

    Path("sweep/cells").mkdir(parents=True)
    for text in ("{", "[1]", "{}", '{"hash": 1}'):
        Path("sweep/sweep.json").write_text(text)
        try:
            sweep([Cell("a", {})], list, Path("sweep"), {"a": 1}, How(resume=True))
        except ProxycalError as error:
            seen = str(error)
    return True, seen


def _ledger(spoil: Callable[[Path], None]) -> tuple[int, str]:
    Path("table2.csv").write_bytes(Path("table.csv").read_bytes())
    shell("calibrate", "run", "table.csv", "table2.csv", "--out", "parts")
    spoil(Path("parts"))
    code, _, err = shell("calibrate", "run", "table.csv", "table2.csv", "--out", "parts", "--resume")
    return code, err


@case("tampered", "a ledger with a line of other fields on --resume")
def _line(here: Path) -> Seen:
    def spoil(folder: Path) -> None:
        with (folder / "_calibration.jsonl").open("a") as lines:
            lines.write('{"name": "a"}\n')

    code, err = _ledger(spoil)
    return code == 2 and "bug" not in err, f"exit {code}: {err}"


@case("tampered", "a finished part with one flipped byte on --resume")
def _flipped(here: Path) -> Seen:
    def spoil(folder: Path) -> None:
        content = bytearray((folder / "table2.csv").read_bytes())
        content[-5] ^= 1
        (folder / "table2.csv").write_bytes(content)

    code, err = _ledger(spoil)
    same = Path("parts/table.csv").read_bytes() == Path("parts/table2.csv").read_bytes()
    return code == 0 and same, f"exit {code} {err}" + ("done again" if same else "kept as finished")


# --- terminal and spreadsheet ---------------------------------------------------------------------------


@case("terminal", "escape codes in the name of a column")
def _escape(here: Path) -> Seen:
    name = "y\x1b[2J\u202e"
    Path("t.csv").write_text(Path("table.csv").read_text().replace("y", name, 1))
    seen = ""
    for args in (
        ["--outcome", name, *ROLES[2:]],
        ["--outcome", "y", *ROLES[2:]],
        ["--outcome", name, *ROLES[2:], "--json"],
    ):
        seen += "".join(shell("check", "t.csv", *args)[1:])
    raw = {"\x1b", "\u202e"} & set(seen)
    return not raw, f"raw: {sorted(map(ascii, raw)) or 'none'}"


@case("terminal", "cells that a spreadsheet runs, with --safe-csv")
def _formula(here: Path) -> Seen:
    frame = pd.read_csv("table.csv").assign(note="=HYPERLINK(1)")
    frame.to_csv("t.csv", index=False)
    code, _, err = shell("calibrate", "run", "t.csv", "--out", "out.csv", "--safe-csv")
    text = Path("out.csv").read_text() if code == 0 else err
    return code == 0 and ",=HYPERLINK" not in text and ",'=HYPERLINK" in text, f"exit {code} {err}"


@case("terminal", "a role that Parquet keeps as pandas' index")
def _index(here: Path) -> Seen:
    pd.read_csv("table.csv").set_index("e_1").to_parquet("t.parquet")
    code, _, err = shell("check", "t.parquet", *ROLES)
    return code == 0, f"exit {code} {err}"


@case("terminal", "a dead --scheduler and a small table", quick=False, seconds=60)
def _scheduler(here: Path) -> Seen:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        return refused("fit", "table.csv", *FIT, "--engine", "dask", "--scheduler", address, "--out", "new")


@case("terminal", "a pipe in place of a table", seconds=5)
def _pipe(here: Path) -> Seen:
    os.mkfifo("pipe.csv")
    return refused("check", "pipe.csv", *ROLES)


@case("terminal", "Ctrl-C during a fit")
def _interrupt(here: Path) -> Seen:
    from proxycal.model import ProxyCalibrator

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    ProxyCalibrator.fit_files = stop
    code, _, err = shell("fit", "table.csv", *FIT, "--out", "new")
    return code == 130 and err.count("\n") == 1, f"exit {code}: {err}"


@case("weights", "whole-number survey weights of 500 to 1500")
def _weights(here: Path) -> Seen:
    import proxycal

    frame = pd.read_csv("table.csv")
    weights = np.random.default_rng(0).integers(500, 1500, len(frame))
    roles = proxycal.Roles("y", ["p_1", "p_2", "p_3"], ["e_1", "e_2"], weights="w")
    errors = [
        proxycal.ProxyCalibrator(roles, direction="over", method="moments").fit(frame.assign(w=w)).alpha_se_
        for w in (weights, weights / 1000)
    ]
    return np.allclose(*errors), f"standard errors {errors[0]:.4g} and {errors[1]:.4g} after scaling"
