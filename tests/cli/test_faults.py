"""Commands whose k-th call to the operating system fails, for every k: the old or the new, and one line."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import proxycal
from proxycal.cli import main
from proxycal.effect.calibrate import BLOCK
from proxycal.errors import EngineError, StoreError
from proxycal.locks import clean
from proxycal.scale.calibrate import calibrate_files
from shim import ERRORS, failing

ROWS = 60


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """A table in two formats, a run of it, and a sheet that an auditor filled in."""
    folder = tmp_path_factory.mktemp("faults")
    sim = proxycal.simulate(n=ROWS, d_z=2, d_e=2, n_proxies=2, alpha=6.0, random_state=1)
    table = sim.table.assign(kind=["a", "b"] * (ROWS // 2))
    table.to_csv(folder / "t.csv", index=False)
    table.to_parquet(folder / "t.parquet")
    proxycal.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(table).save(folder / "run")
    run = str(folder / "run")
    code = main(
        ["audit", run, str(folder / "t.csv"), "--n", "5", "--out", str(folder / "sheet.csv"), "--quiet"]
    )
    assert code == 0
    sheet = pd.read_csv(folder / "sheet.csv")
    sheet[sheet.columns[-1]] = sheet[sheet.columns[-1]].fillna(1.0)
    sheet.to_csv(folder / "filled.csv", index=False)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder but those that only killed programs leave."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in files
        if not path.name.startswith(".proxycal-")
    }


COMMANDS = {
    "calibrate.csv": ["calibrate", "run", "t.csv", "--out", "calibrate.csv"],
    "calibrate.csv.gz": ["calibrate", "run", "t.csv", "--out", "calibrate.csv.gz", "--safe-csv"],
    "calibrate.parquet": ["calibrate", "run", "t.parquet", "--out", "calibrate.parquet"],
    "totals.csv": ["totals", "run", "t.csv", "--by", "kind", "--out", "totals.csv"],
    "sheet.csv": ["audit", "run", "t.csv", "--n", "6", "--seed", "3", "--out", "sheet.csv"],
    "audited.csv": ["audit", "run", "t.csv", "--filled", "filled.csv", "--out", "audited.csv"],
    "page.html": ["report", "run", "--out", "page.html"],
    "sim.csv": ["simulate", "--n", "50", "--out", "sim.csv"],
}  # fmt: skip


def every_k(error: str, prepare, command: list[str], check, capsys) -> int:
    """Run the command with its first, second, ... call failing, until none does; how many that were."""
    for k in range(1, 2000):
        prepare()
        capsys.readouterr()
        with failing(k, error) as shim:
            code = main(command)
        said = capsys.readouterr().err
        assert code in (0, 2), f"call {k}: {said}"
        assert code == 0 or said.count("error:") == 1, f"call {k}: {said}"
        check(code)
        if shim.calls < k:
            assert code == 0
            return k - 1
    raise AssertionError("it never ends")


# One error of each command in `make test`; all of all in `make test-slow`.
QUICK = {
    ("calibrate.csv", "ENOSPC"),
    ("totals.csv", "EIO"),
    ("audited.csv", "EROFS"),
    ("sim.csv", "MemoryError"),
}


def all_of(names, errors, quick):
    return [
        pytest.param(name, error, marks=[] if (name, error) in quick else [pytest.mark.slow])
        for name in names
        for error in errors
    ]


@pytest.mark.parametrize(("name", "error"), all_of(COMMANDS, ERRORS, QUICK))
def test_an_output_is_the_old_or_the_new(home, tmp_path, monkeypatch, capsys, name, error):
    shutil.copytree(home, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    before = contents(tmp_path)
    assert main(COMMANDS[name]) == 0  # imports what it needs
    after = contents(tmp_path)
    changed = {path for path in after if after[path] != before.get(path)}

    def prepare():
        for path in changed:
            Path(path).write_bytes(b"old")

    def check(code):
        for path, content in contents(tmp_path).items():
            is_old = code != 0 and path in changed and content == b"old"
            assert is_old or content == after[path], path

    assert every_k(error, prepare, COMMANDS[name], check, capsys) >= 5
    clean(tmp_path)
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".proxycal-")]


@pytest.mark.parametrize(("name", "error"), all_of(["parts"], ERRORS, {("parts", "ENOSPC")}))
def test_a_folder_of_parts_is_gone_on_with(home, tmp_path, monkeypatch, capsys, name, error):
    shutil.copytree(home, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    shutil.copy("t.csv", "u.csv")
    command = ["calibrate", "run", "t.parquet", "u.csv", "--jobs", "1", "--out", name]

    def parts():
        return {file: content for file, content in contents(Path(name)).items() if not file.startswith("_")}

    assert main(command) == 0
    whole = parts()

    def prepare():
        shutil.rmtree(name, ignore_errors=True)

    def check(code):
        if code != 0:
            resumed = main([*command, "--resume"])
            assert resumed == 0, capsys.readouterr().err
        assert parts() == whole

    assert every_k(error, prepare, command, check, capsys) >= 10


@pytest.mark.slow
@pytest.mark.parametrize("error", [*ERRORS])
def test_parts_that_are_joined_are_the_old_or_the_new_file(home, tmp_path, error):
    table = pd.concat([pd.read_parquet(home / "t.parquet")] * (1 + BLOCK // ROWS), ignore_index=True)
    table.to_parquet(tmp_path / "long.parquet")
    out = tmp_path / "out.parquet"
    done = calibrate_files(home / "run", [tmp_path / "long.parquet"], out, part_rows=BLOCK)
    assert done.rows == len(table)
    new = out.read_bytes()
    for k in range(1, 2000):
        out.write_bytes(b"old")
        with failing(k, error) as shim:
            try:
                calibrate_files(home / "run", [tmp_path / "long.parquet"], out, part_rows=BLOCK, resume=True)
                ended = True
            except (StoreError, EngineError, MemoryError):
                ended = False
        assert out.read_bytes() == new if ended else out.read_bytes() in (b"old", new)
        if shim.calls < k:
            break
    assert k > 20
    assert np.isfinite(pd.read_parquet(out)["y_cal"]).all()
    clean(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["long.parquet", "out.parquet"]
