"""What the page gives away to run again does run, and gives the same answer."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

import proxycal
from proxycal.app.reproduce import Source, python_script, shell_commands
from proxycal.app.request import Request
from proxycal.cli import main
from proxycal.reading.table import read_table
from proxycal.settings import Settings
from proxycal.table.roles import Roles
from proxycal.testing.example import EXAMPLE_ALPHA, biased_weights

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = 'it\'s "$(touch owned)", `b`; \\'


def commands_of(script: str, folder: Path) -> list[list[str]]:
    """The arguments that a shell gives to each program of a script; none of them is run."""
    fakes = folder / "fakes"
    fakes.mkdir(exist_ok=True)
    for name in ("proxycal", "python"):
        (fakes / name).write_text(f"#!/bin/sh\nprintf '%s\\0' {name} \"$@\"\nprintf '\\0'\n")
        (fakes / name).chmod(0o755)
    done = subprocess.run(["sh", "-c", script], cwd=folder, env={"PATH": f"{fakes}:/bin:/usr/bin"},
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert done.stderr == ""
    return [line.split("\0") for line in done.stdout.removesuffix("\0\0").split("\0\0")]


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """A table whose file and columns have names that a shell, Python and CSV could trip over."""
    monkeypatch.chdir(tmp_path)
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


def test_the_script_runs_and_gives_the_same_alpha(hostile, capsys):
    folder, source, request, model = hostile
    names: dict[str, object] = {}
    exec(compile(python_script(source, request), "reproduce.py", "exec"), names)
    assert names["model"].alpha_ == model.alpha_
    assert f"{model.verdict_} {model.alpha_}" in capsys.readouterr().out
    assert (folder / "report.html").stat().st_size > 1000
    assert "y_cal" in read_table(folder / "calibrated.csv")


def test_the_commands_run_and_give_the_same_alpha(hostile, capsys):
    folder, source, request, model = hostile
    used = commands_of(shell_commands(source, request), folder)
    assert [arguments[:2] for arguments in used] == [["proxycal", "fit"], ["proxycal", "calibrate"]]
    for arguments in used:
        assert main(arguments[1:]) == 0, capsys.readouterr().err
    assert proxycal.load(folder / "run").alpha_ == model.alpha_
    assert "y_cal" in read_table(folder / "calibrated.csv")
    assert not (folder / "owned").exists(), "the shell ran no part of a name"


def test_the_example_is_made_again_to_the_last_digit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sim = biased_weights()
    request = Request(sim.roles, Settings(direction="under"))
    first, *_ = commands_of(shell_commands(Source("weights.csv", EXAMPLE_ALPHA), request), tmp_path)
    assert first[:2] == ["python", "-c"]
    exec(first[2], {})
    assert read_table(tmp_path / "weights.csv").equals(sim.table)
    names: dict[str, object] = {}
    exec(python_script(Source("again.csv", EXAMPLE_ALPHA), request).split("roles = ")[0], names)
    # Ids are read as text.
    assert names["table"].astype({"seqn": sim.table["seqn"].dtype}).equals(sim.table)


def test_a_workbook_is_read_as_it_is(tmp_path):
    request = Request(Roles("y", ["p"], ["e"]), Settings(direction="over"))
    first, second = commands_of(shell_commands(Source("my book.xlsx"), request), tmp_path)
    assert first[:3] == ["proxycal", "fit", "my book.xlsx"]
    assert second[:4] == ["proxycal", "calibrate", "run", "my book.xlsx"]


def test_only_what_was_changed_is_written_and_the_direction_always():
    request = Request(Roles("y", ["p"], ["e"]), Settings(direction="over"), repetitions=20)
    script, commands = python_script(Source("t.csv"), request), shell_commands(Source("t.csv"), request)
    assert "ProxyCalibrator(roles, direction='over').fit" in script
    assert "model.power(repetitions=20)" in script
    assert "--direction=over --out=run" in commands
    assert commands.splitlines()[-2:] == ["proxycal power run --repetitions 20", "proxycal report run"]
