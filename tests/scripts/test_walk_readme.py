"""The walk of the README on tables of a stranger's making: every command runs as it is printed."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import subprocess
from pathlib import Path

import pandas as pd
import pytest

import proxycal
from proxycal.cli import main

ROOT = Path(__file__).parent.parent.parent
WALK = runpy.run_path(str(ROOT / "scripts" / "walk_readme.py"))


def test_the_walk_begins_as_the_readme_does():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first = re.search(r"^proxycal (\w+)", readme, flags=re.MULTILINE)
    assert first is not None
    assert first[1] == WALK["STEPS"][0]


def in_this_process(command: str, folder: Path) -> tuple[int, str]:
    """As `in_a_shell`: a shell takes the command apart, and only then is it run here, without a new start."""
    words = f"proxycal() {{ printf '%s\\0' \"$@\"; }}; {command}"
    taken = subprocess.run(["sh", "-c", words], cwd=folder, capture_output=True, text=True, check=True)
    said, complained = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(complained),
    ):
        code = main(taken.stdout.split("\0")[:-1])
    return code, said.getvalue() + complained.getvalue()


def test_a_shell_finds_the_program(tmp_path):
    assert WALK["in_a_shell"]("proxycal --version", tmp_path) == (0, f"proxycal {proxycal.__version__}\n")


@pytest.mark.parametrize("name", ["european", "dollars", "spreadsheet"])
def test_from_check_to_totals(name, tmp_path):
    stranger = WALK[name](tmp_path)
    check, fit, _, totals = WALK["walk"](stranger, tmp_path, in_this_process)
    assert "understood: " in check
    assert "bias found" in fit
    assert "calibrated" in totals
    written = (tmp_path / "calibrated.csv").read_text(encoding="utf-8")
    if name == "european":
        assert f"{stranger.size - 0.25:.1f}" < re.search(r"by about ([\d.]+)", fit)[1] < "2.3"
        # Semicolons, decimal commas and the codes of the table, as they were.
        given = (tmp_path / "schäden.csv").read_text(encoding="cp1252").splitlines()
        kept = [line.rsplit(";", 6)[0] for line in written.splitlines()]
        assert kept == [line for line in given if line]
        assert re.search(r"-?\d+,\d+;", written.splitlines()[1].split(";", 6)[6] + ";")
    else:
        given = (
            pd.read_csv(tmp_path / "losses.csv", dtype=str)
            if name == "dollars"
            else pd.read_excel(tmp_path / "claims.xlsx", dtype=str)
        )
        back = pd.read_csv(tmp_path / "calibrated.csv", dtype=str)
        same = [column for column in ("county", "loss", "region", "case", "zip", "notes") if column in given]
        assert back[same].equals(given[same])
