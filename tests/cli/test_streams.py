"""Standard input and output, pipes, JSON lines: the same answers as by files."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pandas as pd
import pytest

import proxycal
from cli.shell import ASKED, make_table
from proxycal.cli import main, streams

# Programs that tests start import what is tested, wherever they stand.
ENV = os.environ | {"PYTHONPATH": str(Path(proxycal.__file__).parents[1])}
FAST = [*ASKED, "--method", "moments", "--id", "county"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the table in three formats, a run of it, and its calibrated table."""
    folder = tmp_path_factory.mktemp("streams")
    table = make_table()
    table.to_csv(folder / "table.csv", index=False)
    table.to_parquet(folder / "table.parquet")
    table.to_json(folder / "table.jsonl", orient="records", lines=True, double_precision=15)
    assert main(["fit", str(folder / "table.csv"), *FAST, "--out", str(folder / "run"), "-q"]) == 0
    command = ["calibrate", str(folder / "run"), str(folder / "table.csv"), "--out", str(folder / "c.csv")]
    assert main([*command, "-q"]) == 0
    return folder


class Standard(io.TextIOWrapper):
    """A stream of bytes as a standard stream is one."""

    def __init__(self, content: bytes = b"") -> None:
        self.raw_bytes = io.BytesIO(content)
        super().__init__(self.raw_bytes, encoding="utf-8", write_through=True)


@pytest.fixture
def pipe(monkeypatch):
    """out = pipe(content, command): what a command that succeeds writes, given these bytes."""

    def run(content: bytes, command: list[str]) -> bytes:
        monkeypatch.setattr(sys, "stdin", Standard(content))
        out = Standard()
        monkeypatch.setattr(sys, "stdout", out)
        assert main(command) == 0
        return out.raw_bytes.getvalue()

    return run


def calibrated(place) -> pd.DataFrame:
    return pd.read_csv(place / "c.csv", dtype={"county": str})


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_what_is_piped_in_comes_out_as_it_is(place, pipe, kind):
    content = (place / f"table.{kind}").read_bytes()
    out = pipe(content, ["calibrate", str(place / "run"), "-", "--out", "-"])
    if kind == "csv":
        assert out == (place / "c.csv").read_bytes()
        return
    read = (
        pd.read_parquet if kind == "parquet" else lambda lines: pd.read_json(lines, lines=True, dtype=False)
    )
    pd.testing.assert_frame_equal(read(io.BytesIO(out)), calibrated(place), rtol=1e-12)


def test_a_format_can_be_chosen(place, pipe):
    content = (place / "table.csv").read_bytes()
    out = pipe(
        content, ["totals", str(place / "run"), "-", "--by", "hazard", "--out", "-", "--format", "jsonl"]
    )
    lines = [json.loads(line) for line in out.decode().splitlines()]
    assert [line["hazard"] for line in lines] == ["fire", "flood", "overall"]


def test_a_fit_from_a_pipe_is_that_of_the_file_and_speaks_of_the_pipe(place, pipe, tmp_path):
    content = (place / "table.csv").read_bytes()
    shown = pipe(content, ["fit", "-", *FAST, "--out", str(tmp_path / "run")]).decode()
    assert "calibrate" in shown
    assert " - --out" in shown
    assert "table.csv" not in shown
    assert "proxycal-" not in shown
    results = [json.loads((folder / "run/results.json").read_text()) for folder in (place, tmp_path)]
    assert results[0]["estimate"] == results[1]["estimate"]


def test_json_lines_are_a_file_too(place, tmp_path, capsys):
    out = tmp_path / "out.jsonl"
    command = ["calibrate", str(place / "run"), str(place / "table.jsonl"), "--out", str(out), "--json"]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["out"] == str(out)
    frame = pd.read_json(out, lines=True, dtype=False)
    pd.testing.assert_frame_equal(frame, calibrated(place), rtol=1e-12)
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_with_a_name_is_read_once(place, tmp_path, capsys):
    named = tmp_path / "pipe"
    os.mkfifo(named)
    content = (place / "table.csv").read_bytes()
    writer = threading.Thread(target=named.write_bytes, args=(content,))
    writer.start()
    assert main(["totals", str(place / "run"), str(named), "--json"]) == 0
    writer.join()
    totals = json.loads(capsys.readouterr().out)["totals"]
    assert totals[0]["rows"] == 240


def test_shells_pipe_and_substitute(place):
    program = f"{sys.executable} -m proxycal"
    line = (
        f"cat table.csv | {program} calibrate run - --out - | head -n 1; "
        f"{program} totals run <(cat table.csv) --out -"
    )
    done = subprocess.run(["bash", "-c", line], cwd=place, capture_output=True, text=True, env=ENV)
    lines = done.stdout.splitlines()
    assert lines[0].endswith("y_cal,y_cal_low,y_cal_high,p_biased,shift,mu"), done.stderr
    assert lines[1].startswith("rows,reported,calibrated,low,high,change_pct")
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("content", "command", "said"),
    [
        (b"", ["calibrate", "run", "-", "--out", "-"], "standard input is empty"),
        (b'{"a":', ["totals", "run", "-"], "standard input cannot be read as JSON lines"),
        (b'{"a":[1]}\n', ["totals", "run", "-"], "holds an object or a list in 'a'"),
        (b"a\n1\n", ["totals", "run", "-", "-"], "given twice"),
        (b"a\n1\n", ["calibrate", "run", "-", "--out", "-", "--json"], "both write to standard output"),
        (b"a\n1\n", ["calibrate", "run", "-", "--out", "-", "--format", "xml"], "--format xml"),
        (
            b"a\n1\n",
            ["calibrate", "run", "-", "--out", "a.csv", "--format", "csv"],
            "--format csv: it is for",
        ),
        (b"", ["totals", "run", "nowhere.jsonl"], "there is no such file"),
        (b"", ["totals", "run", "table.csv", "--out", "nowhere/totals.jsonl"], "does not exist"),
    ],
)
def test_what_cannot_be_piped_is_one_line(place, monkeypatch, capsys, content, command, said):
    monkeypatch.chdir(place)
    before = {path.name for path in Path(place).iterdir()}
    monkeypatch.setattr(sys, "stdin", Standard(content))
    assert main(command) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert err.count("\n") == 1
    assert "proxycal-" not in err
    assert out == ""
    assert {path.name for path in Path(place).iterdir()} == before


def test_a_terminal_has_nothing_to_read(place, monkeypatch, capsys):
    terminal = Standard()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    assert main(["totals", str(place / "run"), "-"]) == 2
    assert "nothing is piped into it" in capsys.readouterr().err


def test_verbose_logs_the_steps_on_standard_error(place, capsys):
    command = ["calibrate", str(place / "run"), str(place / "table.csv"), "--out", str(place / "v.csv"), "-q"]
    assert main([*command, "-v"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "calibrating 240 rows of 1 tables" in err
    assert main(command) == 0
    assert capsys.readouterr().err == ""


def test_completion_knows_the_commands_and_options():
    asked = {"_PROXYCAL_COMPLETE": "complete_bash", "COMP_WORDS": "proxycal cal", "COMP_CWORD": "1"}
    run = [sys.executable, "-m", "proxycal"]
    done = subprocess.run(run, capture_output=True, text=True, env=ENV | asked)
    assert done.stdout.split() == ["calibrate"]
    asked["COMP_WORDS"], asked["COMP_CWORD"] = "proxycal calibrate --res", "2"
    done = subprocess.run(run, capture_output=True, text=True, env=ENV | asked)
    assert "--resume" in done.stdout


def test_a_look_at_standard_input(place, pipe):
    shown = json.loads(pipe((place / "table.csv").read_bytes(), ["look", "-", "--json"]))
    assert (shown["path"], shown["rows"]) == ("-", 240)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_that_nobody_writes_into_is_refused(place, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(streams, "PATIENCE", 0.1)
    os.mkfifo(tmp_path / "pipe")
    assert main(["totals", str(place / "run"), str(tmp_path / "pipe")]) == 2
    assert "nobody writes into it" in capsys.readouterr().err
