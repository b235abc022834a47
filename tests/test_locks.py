"""One writer at a time, and what a killed program left is removed by the next."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from proxycal.errors import StoreError
from proxycal.locks import alone, clean, hidden_name, holder, temporary_file, temporary_folder

HOLDING = """
import sys, time
from pathlib import Path
from proxycal.locks import alone, temporary_file, temporary_folder
here = Path(sys.argv[1])
with alone(here / "run"), temporary_file(here, ".csv"), temporary_folder(here, ".run") as folder:
    (folder / "part").write_text("half")
    print("ready", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def other(tmp_path):
    """Another program that writes the folder `run` and holds two temporary names."""
    running = subprocess.Popen([sys.executable, "-c", HOLDING, str(tmp_path)], stdout=subprocess.PIPE)
    running.stdout.readline()
    yield running
    running.kill()
    running.wait()
    running.stdout.close()


def names(folder) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_the_second_writer_is_told_who_the_first_is(tmp_path, other):
    assert f"process {other.pid} on " in holder(tmp_path / "run")
    with (
        pytest.raises(StoreError, match=f"is being written by process {other.pid} "),
        alone(tmp_path / "run", patience=0),
    ):
        pass
    with alone(tmp_path / "another", patience=0):
        pass


def test_a_lock_ends_with_its_program_however_that_ends(tmp_path, other):
    other.send_signal(signal.SIGKILL)
    other.wait()
    with alone(tmp_path / "run", patience=0):
        assert f"process {os.getpid()}" in holder(tmp_path / "run")
    assert holder(tmp_path / "run") == ""


def test_a_living_program_keeps_its_temporary_names_and_a_killed_one_loses_them(tmp_path, other):
    before = names(tmp_path)
    assert len(before) == 3
    clean(tmp_path)
    assert names(tmp_path) == before
    other.send_signal(signal.SIGKILL)
    other.wait()
    clean(tmp_path)
    assert names(tmp_path) == [hidden_name("lock", tmp_path / "run").name]


def test_names_of_others_are_never_removed(tmp_path):
    for name in (".proxycal-notes", ".proxycal-0123456789AB.csv", ".proxycal-0123456789abc", "a.csv"):
        (tmp_path / name).write_text("mine")
    clean(tmp_path)
    assert len(names(tmp_path)) == 4


def test_a_temporary_name_is_short_and_keeps_the_ending(tmp_path):
    with temporary_file(tmp_path, ".csv.gz") as path:
        assert path.name.endswith(".csv.gz")
        assert len(path.name) < 40
    with temporary_file(tmp_path, "." + "x" * 200) as path:
        assert len(path.name) < 40
    with temporary_folder(tmp_path, ".run") as folder:
        (folder / "part").write_text("half")
    assert names(tmp_path) == []


def test_a_lock_is_for_one_block(tmp_path):
    with alone(tmp_path / "run"):
        assert len(names(tmp_path)) == 1
    assert names(tmp_path) == []


def test_where_nothing_may_be_written_beside_a_folder_there_is_no_lock(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with alone(tmp_path / "run"):
        pass
