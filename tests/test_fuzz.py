"""Damaged and crafted files: whatever is in them, the answer is a result or one error of ours.

Seeded and bounded: PROXYCAL_FUZZ_TRIES (per kind of file) and PROXYCAL_FUZZ_SEED choose another run.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import warnings

import pytest

import proxycal
from proxycal.cli import main
from proxycal.cli.request import Given
from proxycal.errors import ProxycalError
from proxycal.reading.table import read_table
from proxycal.scale.ledger import NAME, claim
from proxycal.scale.sources import batches, look_at
from proxycal.store.place import RUN_FILES
from proxycal.studies.sweep import Cell, How, sweep

pytestmark = pytest.mark.slow
TRIES = int(os.environ.get("PROXYCAL_FUZZ_TRIES", "300"))
SEED = int(os.environ.get("PROXYCAL_FUZZ_SEED", "0"))
WORDS = [b"", b"\0", b"\xff\xfe", b"nan", b"inf", b"1e999", b"-1", b'"', b",", b"\n", b"\r", b"[", b"{",
         b"}", b"null", b"true", b"9" * 400, b"[" * 2000, b"\xf0\x9f\x99\x82", b"../", b"=",
         b"x" * 5000]  # fmt: skip


def mutated(content: bytes, rng: random.Random) -> bytes:
    """Some bytes flipped, cut out, repeated, swapped or put in."""
    made = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(made) + 1)
        end = min(len(made), at + rng.choice((1, 4, 64, 1024)))
        how = rng.randrange(6)
        if how == 0 and made:
            made[at % len(made)] ^= 1 << rng.randrange(8)
        elif how == 1:
            del made[at:end]
        elif how == 2:
            made[at:at] = made[at:end]
        elif how == 3:
            made[at:end] = rng.choice(WORDS)
        elif how == 4:
            made[at:at] = rng.choice(WORDS)
        else:
            made[at:end] = rng.randbytes(end - at)
    return bytes(made)


def other_value(value, rng: random.Random):
    """JSON with one value, somewhere in it, made another."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(sorted(value))
        if rng.random() < 0.1:
            return {name: kept for name, kept in value.items() if name != key}
        return value | {key: other_value(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = rng.randrange(len(value))
        return [*value[:at], other_value(value[at], rng), *value[at + 1 :]]
    return rng.choice([None, True, -1, 0, 1e308, float("inf"), "", "x", [], {}, [[]], 10**400, "\0"])


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A table in two formats, a run of it, and a folder of finished parts."""
    folder = tmp_path_factory.mktemp("fuzz")
    sim = proxycal.simulate(n=120, d_z=2, d_e=2, n_proxies=3, alpha=6.0, random_state=1)
    sim.table["kind"] = ["a", "b", "é"] * 40
    sim.table.to_csv(folder / "t.csv", index=False)
    sim.table.to_parquet(folder / "t.parquet")
    model = proxycal.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(sim.table)
    model.save(folder / "run")
    return folder


def attempts(kind: str):
    for number in range(TRIES):
        yield random.Random(f"{SEED} {kind} {number}")


def try_it(work, what: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            work()
    except ProxycalError:
        pass
    except Exception as error:
        raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_tables(home, tmp_path, name):
    content, path = (home / name).read_bytes(), tmp_path / name

    def work():
        read_table(path)
        source = look_at(str(path))
        for table in batches(source, 0, source.rows):
            table.to_pandas(ignore_metadata=True)

    for number, rng in enumerate(attempts(name)):
        path.write_bytes(mutated(content, rng))
        try_it(work, f"{name} {number}")


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_tables_on_the_command_line(home, tmp_path, capsys, name):
    content, path = (home / name).read_bytes(), tmp_path / name
    for number, rng in enumerate(attempts(f"shell {name}")):
        path.write_bytes(mutated(content, rng))
        code = main(["totals", str(home / "run"), str(path), "--by", "kind"])
        assert code in (0, 2), f"{name} {number}: {capsys.readouterr().err}"
        capsys.readouterr()


def test_settings(tmp_path):
    text = (
        b'outcome = "y"\nproxies = ["p_1", "p_2"]\nenvironment = ["e_1"]\ndirection = "over"\nseed = 1\n'
        b"[paper]\nd_z = 3\n"
    )
    for number, rng in enumerate(attempts("toml")):
        (tmp_path / "run.toml").write_bytes(mutated(text, rng))
        try_it(lambda: Given({}, tmp_path / "run.toml").read(), f"toml {number}")


@pytest.mark.parametrize("sums", ["as they were", "made to fit"])
def test_run_folders(home, tmp_path, sums):
    table, run = read_table(home / "t.csv"), tmp_path / "run"

    def work():
        model = proxycal.load(run)
        model.calibrate(table)
        model.totals(table)
        model.summary()

    for number, rng in enumerate(attempts(f"run {sums}")):
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(home / "run", run)
        name = rng.choice([*RUN_FILES, "manifest.json"])
        content = (run / name).read_bytes()
        if name.endswith(".json") and rng.random() < 0.7:
            content = json.dumps(other_value(json.loads(content), rng)).encode()
        else:
            content = mutated(content, rng)
        (run / name).write_bytes(content)
        if sums == "made to fit" and name != "manifest.json":
            manifest = json.loads((run / "manifest.json").read_text())
            manifest["files"][name] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
            (run / "manifest.json").write_text(json.dumps(manifest))
        try_it(work, f"{name} {number} of the run")


def test_ledgers(tmp_path):
    facts = {"run": "a", "tables": [{"name": "t", "rows": 1}], "proxycal": "1", "parts": [["a", 0, 0, 1]]}
    line = {"name": "a", "rows": 1, "unanswered": 0, "digest": "0" * 64}
    content = "".join(json.dumps(one) + "\n" for one in (facts, line, line | {"name": "b"})).encode()
    for number, rng in enumerate(attempts("ledger")):
        (tmp_path / NAME).write_bytes(mutated(content, rng))
        try_it(lambda: claim(tmp_path, facts, resume=True), f"ledger {number}")


def test_sweeps(tmp_path):
    cells = [Cell("a", {"n": 1}), Cell("b", {"n": 2})]
    for number, rng in enumerate(attempts("sweep")):
        shutil.rmtree(tmp_path / "s", ignore_errors=True)
        sweep(cells, doubled, tmp_path / "s", {"c": [1]}, How())
        path = tmp_path / "s" / rng.choice(["sweep.json", "cells/a.json"])
        path.write_bytes(mutated(path.read_bytes(), rng))
        try_it(lambda: sweep(cells, doubled, tmp_path / "s", {"c": [1]}, How(resume=True)), f"sweep {number}")


def doubled(settings):
    return [{"n": 2 * settings["n"]}]
