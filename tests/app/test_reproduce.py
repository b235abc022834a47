"""What the page gives away to run again does run, and gives the same answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import openpyxl
import pytest

import proxycal
from proxycal.app.reproduce import Source, python_script, shell_commands
from proxycal.app.request import Request
from proxycal.app.tables import excel_to_csv
from proxycal.config import Settings
from proxycal.demo import ALPHA, biased_jobs
from proxycal.files import read_table
from proxycal.table.roles import Roles

HOSTILE = 'it\'s "$(touch owned)", `b`; \\'


def run(folder: Path, *command: str) -> str:
    place = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": place}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def hostile(tmp_path):
    """A table whose file and columns have names that a shell, Python and CSV could trip over."""
    sim = proxycal.simulate(n=200, d_z=1, d_e=2, n_proxies=2, alpha=4.0, random_state=0)
    table = sim.table.rename(columns={"e_1": HOSTILE, "p_1": "--proxy, 1"})
    table["county"] = [f"0{i % 40}" for i in range(len(table))]
    name = "-my 'table' $x.csv"
    table.to_csv(tmp_path / name, index=False)
    roles = Roles("y", ["--proxy, 1", "p_2"], [HOSTILE, "e_2"], cluster="county")
    settings = Settings(method="moments", direction="over", level=0.9, random_state=3)
    model = proxycal.ProxyCalibrator.from_settings(roles, settings).fit(
        read_table(tmp_path / name, text=["county"])
    )
    return tmp_path, Source(name), Request(roles, settings), model


def test_the_script_runs_and_gives_the_same_alpha(hostile):
    folder, source, request, model = hostile
    (folder / "reproduce.py").write_text(python_script(source, request), encoding="utf-8")
    printed = run(folder, sys.executable, "reproduce.py")
    assert f"{model.alpha_!r}" in printed
    assert model.verdict_ in printed
    assert (folder / "report.html").stat().st_size > 1000
    assert "y_cal" in read_table(folder / "calibrated.csv")
    assert not (folder / "owned").exists()


def test_the_commands_run_and_give_the_same_alpha(hostile):
    folder, source, request, model = hostile
    (folder / "reproduce.sh").write_text(shell_commands(source, request), encoding="utf-8")
    run(folder, "sh", "reproduce.sh")
    found = json.loads((folder / "run" / "results.json").read_text(encoding="utf-8"))
    assert found["alpha"] == model.alpha_
    assert "y_cal" in read_table(folder / "calibrated.csv")
    assert not (folder / "owned").exists()


def test_the_example_is_made_again_to_the_last_digit(tmp_path):
    sim = biased_jobs()
    first = shell_commands(Source("jobs.csv", ALPHA), Request(sim.roles, Settings())).split("\nproxycal")[0]
    run(tmp_path, "sh", "-c", first)
    assert read_table(tmp_path / "jobs.csv").equals(sim.table)
    names: dict[str, object] = {}
    script = python_script(Source("again.csv", ALPHA), Request(sim.roles, Settings()))
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        exec(script.split("roles = ")[0], names)
    finally:
        os.chdir(before)
    assert names["table"].equals(sim.table)


def test_a_workbook_is_turned_into_the_csv_that_the_page_read(tmp_path):
    book = openpyxl.Workbook()
    for row in (["y", "p", "e"], [1.5, 2, "a"], [2.25, 3, "b"]):
        book.active.append(row)
    book.save(tmp_path / "my book.xlsx")
    request = Request(Roles("y", ["p"], ["e"]), Settings())
    first, *others = shell_commands(Source("my book.xlsx"), request).split("\nproxycal")
    assert "'my book.csv'" in others[0]
    run(tmp_path, "sh", "-c", first)
    excel_to_csv(tmp_path / "my book.xlsx", tmp_path / "wanted.csv")
    assert (tmp_path / "my book.csv").read_bytes() == (tmp_path / "wanted.csv").read_bytes()


def test_only_what_was_changed_is_written_and_the_direction_always():
    request = Request(Roles("y", ["p"], ["e"]), Settings(), repetitions=20)
    script, commands = python_script(Source("t.csv"), request), shell_commands(Source("t.csv"), request)
    assert "ProxyCalibrator(roles, direction='over').fit" in script
    assert "model.power(repetitions=20)" in script
    assert "--direction=over --out=run" in commands
    assert commands.splitlines()[-2:] == ["proxycal power run --repetitions 20", "proxycal report run"]
