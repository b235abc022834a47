"""Attacks by what is read: damaged and crafted files, names, terminals; see `attack_cases.py`."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from attack_cases import CASES, FIT, ROLES, Seen, case, refused, shell

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CASES"]

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
    from proxycal import fitting

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    fitting.fit_files = stop
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


# --- tables of several files ----------------------------------------------------------------------------


@case("input", "a column that is a code in one file of a table and a number in the other", False, 60)
def _two_files(here: Path) -> Seen:
    table = pd.read_csv("table.csv").assign(place="13001")
    table.loc[120:, "place"] = "01003"
    for name, half in (("a.csv", table[:120]), ("b.csv", table[120:])):
        half.to_csv(name, index=False)
    table.to_csv("whole.csv", index=False)
    asked = [part if part != "e_1,e_2" else "e_1,e_2,place" for part in FIT]
    tables = {"two": ["a.csv", "b.csv"], "one": ["whole.csv"]}
    codes = [shell("fit", *files, *asked, "--out", out)[0] for out, files in tables.items()]
    import proxycal

    sizes = [proxycal.load(name).alpha_ for name in ("one", "two")] if codes == [0, 0] else []
    return len(set(sizes)) == 1, f"exits {codes}, alpha {sizes}"
