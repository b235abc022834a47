"""Sweeps survive kills, record errors, and never mix configs."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from proxycal.errors import SettingsError, StoreError
from proxycal.studies.sweep import Cell, How, digest, finished, sweep

CELLS = [Cell(f"n={n}", {"n": n}) for n in range(5)]
CONFIG = {"bench": "squares", "version": 1}
ALONE = How()


def squares(settings):
    return [{"n": settings["n"], "square": settings["n"] ** 2, "third": settings["n"] / 3.0}]


def logged(settings):
    """Leave a line for every time a cell is done."""
    with Path(settings["log"]).open("a") as log:
        log.write(f"{settings['n']}\n")
    return [{"n": settings["n"]}]


def moody(settings):
    if settings["n"] == 2 and not Path(settings["cure"]).exists():
        raise ZeroDivisionError("a bad cell")
    return [{"n": settings["n"], "value": math.nan if settings["n"] == 3 else 1.5}]


def rows(done):
    return [row for cell in done for row in cell.rows]


def moody_cells(folder):
    return [Cell(f"n={n}", {"n": n, "cure": str(folder / "cure")}) for n in range(5)]


@pytest.mark.parametrize("how", [ALONE, replace(ALONE, jobs=2)])
def test_every_cell_is_done_and_read_back_in_order(tmp_path, how):
    done = sweep(CELLS, squares, tmp_path / "run", CONFIG, how)
    assert [cell.key for cell in done] == [cell.key for cell in CELLS]
    assert rows(done) == [{"n": n, "square": n**2, "third": n / 3.0} for n in range(5)]
    assert all(cell.error is None for cell in done)


def test_resume_does_only_what_is_left(tmp_path):
    cells = [Cell(f"n={n}", {"n": n, "log": str(tmp_path / "log")}) for n in range(5)]
    whole = sweep(cells, logged, tmp_path / "run", CONFIG, ALONE)
    for key in ("n=1", "n=4"):
        (tmp_path / "run" / "cells" / f"{key}.json").unlink()
    assert [cell.key for cell in finished(cells, tmp_path / "run")] == ["n=0", "n=2", "n=3"]
    again = sweep(cells, logged, tmp_path / "run", CONFIG, replace(ALONE, resume=True))
    assert rows(again) == rows(whole)
    assert (tmp_path / "log").read_text().split() == ["0", "1", "2", "3", "4", "1", "4"]


def test_a_bad_cell_is_recorded_and_tried_again_on_resume(tmp_path):
    cells = moody_cells(tmp_path)
    done = sweep(cells, moody, tmp_path / "run", CONFIG, ALONE)
    assert [cell.error for cell in done] == [None, None, "ZeroDivisionError: a bad cell", None, None]
    assert done[2].rows == []
    assert done[3].rows == [{"n": 3, "value": None}], "JSON has no NaN"
    (tmp_path / "cure").touch()
    again = sweep(cells, moody, tmp_path / "run", CONFIG, replace(ALONE, resume=True))
    assert [cell.error for cell in again] == [None] * 5


def test_another_config_is_refused_and_the_difference_named(tmp_path):
    sweep(CELLS, squares, tmp_path / "run", CONFIG, ALONE)
    with pytest.raises(StoreError, match=r"version: 1 there, 2 here"):
        sweep(CELLS, squares, tmp_path / "run", {**CONFIG, "version": 2}, replace(ALONE, resume=True))


def test_an_earlier_run_is_neither_overwritten_nor_silently_reused(tmp_path):
    sweep(CELLS, squares, tmp_path / "run", CONFIG, ALONE)
    with pytest.raises(StoreError, match="--resume"):
        sweep(CELLS, squares, tmp_path / "run", CONFIG, ALONE)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").touch()
    with pytest.raises(StoreError, match="other files"):
        sweep(CELLS, squares, tmp_path / "other", CONFIG, ALONE)


def test_a_damaged_or_foreign_cell_is_named(tmp_path):
    sweep(CELLS, squares, tmp_path / "run", CONFIG, ALONE)
    path = tmp_path / "run" / "cells" / "n=3.json"
    text = path.read_text()
    path.write_text(text[:-20])
    with pytest.raises(StoreError, match=r"n=3\.json.*damaged"):
        list(finished(CELLS, tmp_path / "run"))
    path.write_text(text.replace('"error"', '"errof"'))
    with pytest.raises(StoreError, match=r"n=3\.json.*not what was written"):
        list(finished(CELLS, tmp_path / "run"))
    foreign = {**json.loads(text), "settings": {"n": 7}}
    path.write_text(json.dumps({**foreign, "digest": None}))
    with pytest.raises(StoreError, match="another cell"):
        list(finished(CELLS, tmp_path / "run"))


@pytest.mark.parametrize("keys", [["a/b"], ["../a"], [""], ["a", "A"]])
def test_keys_must_be_able_to_name_files(tmp_path, keys):
    with pytest.raises(SettingsError):
        sweep([Cell(key, {}) for key in keys], squares, tmp_path / "run", CONFIG, ALONE)
    assert not (tmp_path / "run").exists()


def test_digest_sees_every_value():
    assert digest({"a": 1, "b": [1, 2]}) != digest({"a": 1, "b": [2, 1]})


def test_progress_counts_cells_and_begins_where_an_earlier_run_stopped(tmp_path, capsys):
    told = []
    sweep(CELLS, squares, tmp_path / "run", CONFIG, How(progress=lambda *counts: told.append(counts)))
    assert told == [(done, 5) for done in range(6)]
    (tmp_path / "run" / "cells" / f"{CELLS[3].key}.json").unlink()
    told.clear()
    how = How(resume=True, progress=lambda *counts: told.append(counts))
    sweep(CELLS, squares, tmp_path / "run", CONFIG, how)
    assert told == [(4, 5), (5, 5)]
    assert capsys.readouterr() == ("", "")


SLOW = """
import sys, time
from pathlib import Path
from proxycal.studies.sweep import Cell, How, sweep

def slow(settings):
    time.sleep(0.15)
    return [{"n": settings["n"], "root": settings["n"] ** 0.5}]

sweep([Cell(f"n={n}", {"n": n}) for n in range(8)], slow, Path(sys.argv[1]), {"v": 1}, How())
"""


def roots(settings):
    """As `slow`, in no time."""
    return [{"n": settings["n"], "root": settings["n"] ** 0.5}]


def test_killed_and_resumed_equals_uninterrupted(tmp_path):
    """Kill -9 after two cells; --resume; the same rows as a run that nobody disturbed."""
    killed = subprocess.Popen([sys.executable, "-c", SLOW, str(tmp_path / "killed")])
    while len(list((tmp_path / "killed" / "cells").glob("n=*.json"))) < 2:
        assert killed.poll() is None, "it ended before it could be killed"
        time.sleep(0.01)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    cells = [Cell(f"n={n}", {"n": n}) for n in range(8)]
    before = [cell.key for cell in finished(cells, tmp_path / "killed")]
    assert 2 <= len(before) < 8
    resumed = sweep(cells, roots, tmp_path / "killed", {"v": 1}, How(resume=True))
    assert rows(resumed) == rows(sweep(cells, roots, tmp_path / "whole", {"v": 1}, How()))
    assert len(resumed) == 8


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b"{}", b'{"config": 3, "hash": 1}', b"\xff", b"[" * 99_999]
)
def test_a_damaged_sweep_is_named(tmp_path, content):
    sweep(CELLS, squares, tmp_path / "run", CONFIG, ALONE)
    (tmp_path / "run" / "sweep.json").write_bytes(content)
    with pytest.raises(StoreError, match=r"sweep\.json' is damaged"):
        sweep(CELLS, squares, tmp_path / "run", CONFIG, replace(ALONE, resume=True))
