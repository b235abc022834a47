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
    from proxycal.parallel import cluster

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
    from proxycal.parallel import map_as_done

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
