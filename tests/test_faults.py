"""A disk that is full and a disk that may not be written: one clear error, earlier results intact."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

from proxycal import ProxyCalibrator, load, simulate
from proxycal.errors import StoreError
from proxycal.files import write_table, write_text
from proxycal.locks import clean
from proxycal.scale.digests import digest_of
from proxycal.scale.ledger import NAME, Finished, claim, record
from proxycal.store.folder import keep_questions, load_run, save_run
from shim import ERRORS, failing
from store.test_folder import small_run


def _run(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@pytest.fixture
def disk(tmp_path):
    """A disk of 400 KB of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    if not _run("mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(place)):
        pytest.skip("mounting a tmpfs takes root")
    yield place
    _run("umount", "-l", str(place))


@pytest.fixture(scope="module")
def model():
    sim = simulate(n=300, d_z=2, d_e=3, alpha=5.0, random_state=1)
    return ProxyCalibrator(sim.roles, direction="over").fit(sim.table)


def _fill(disk, leave: int = 4096) -> None:
    free = int(
        subprocess.run(["stat", "-f", "-c", "%a %S", disk], capture_output=True, text=True).stdout.split()[0]
    )
    (disk / "filler").write_bytes(b"0" * (free * 4096 - leave))


def test_a_full_disk_leaves_an_earlier_run_and_table_whole(disk, model):
    model.save(disk / "run")
    write_table(pd.DataFrame({"a": [1.0, 2.0]}), disk / "table.csv")
    _fill(disk)
    before = sorted(path.relative_to(disk) for path in disk.rglob("*"))
    with pytest.raises(StoreError, match="run"):
        model.save(disk / "run")
    with pytest.raises(StoreError, match=r"table\.csv"):
        write_table(pd.DataFrame({"a": np.zeros(50_000)}), disk / "table.csv")
    assert sorted(path.relative_to(disk) for path in disk.rglob("*")) == before
    assert load(disk / "run").alpha_ == model.alpha_
    assert pd.read_csv(disk / "table.csv")["a"].tolist() == [1.0, 2.0]


def test_a_disk_that_may_not_be_written_is_one_clear_error(disk, model):
    model.save(disk / "run")
    assert _run("mount", "-o", "remount,ro", str(disk))
    with pytest.raises(StoreError, match="run"):
        model.save(disk / "run")
    with pytest.raises(StoreError, match=r"report\.html"):
        model.report(disk / "report.html")
    assert load(disk / "run").alpha_ == model.alpha_


# --- the k-th call to the operating system fails, for every k ---------------------------------------------


def every_k(error: str, prepare, work, check) -> int:
    """Do the work with its first, second, ... call failing, until none does; how many times that was."""
    for k in range(1, 2000):
        prepare()
        # A full disk is said in our words; that there is no memory, by the program as a whole.
        said = suppress(StoreError, *([MemoryError] if error == "MemoryError" else []))
        with failing(k, error) as shim, said:
            work()
        check()
        if shim.calls < k:
            return k - 1
    raise AssertionError("it never ends")


@pytest.mark.parametrize("error", [*ERRORS])
def test_a_table_is_the_old_or_the_new_whatever_call_fails(tmp_path, error):
    old, new = pd.DataFrame({"y": [1.0]}), pd.DataFrame({"y": [2.0, 3.0]})
    path = tmp_path / "t.csv"

    def check():
        assert path.read_text() in ("y\n1.0\n", "y\n2.0\n3.0\n")

    count = every_k(error, lambda: write_table(old, path), lambda: write_table(new, path), check)
    assert count >= 5
    clean(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize("error", ["ENOSPC", "MemoryError"])
def test_a_run_folder_is_the_old_or_the_new_whatever_call_fails(tmp_path, error):
    folder = tmp_path / "run"
    runs = [small_run(seed) for seed in range(2)]
    save_run(folder, runs[0])
    (folder / "notes.txt").write_text("mine")

    def check():
        found = load_run(folder)
        assert found.results in (runs[0].results, runs[1].results)
        assert (folder / "notes.txt").read_text() == "mine"

    count = every_k(error, lambda: save_run(folder, runs[0]), lambda: save_run(folder, runs[1]), check)
    assert count >= 40
    clean(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("error", ["EIO"])
def test_questions_are_the_old_or_the_new_whatever_call_fails(tmp_path, error):
    folder = tmp_path / "run"

    def prepare():
        save_run(folder, small_run())
        keep_questions(folder, {"null": {"a": 1}})

    def check():
        assert load_run(folder).questions in ({"null": {"a": 1}}, {"null": {"a": 1}, "power": {"b": 2}})

    assert every_k(error, prepare, lambda: keep_questions(folder, {"power": {"b": 2}}), check) >= 8


@pytest.mark.parametrize("error", ["ENOSPC", "EROFS"])
def test_a_ledger_goes_on_whatever_call_fails(tmp_path, error):
    folder, facts = tmp_path / "out", {"run": "a", "tables": [], "proxycal": "1", "parts": 1}

    def prepare():
        shutil.rmtree(folder, ignore_errors=True)

    def work():
        claim(folder, facts, resume=False)
        write_text(folder / "a", "rows")
        record(folder, Finished("a", 1, 0, digest_of(folder / "a")))

    def check():
        if (folder / NAME).exists() and (folder / NAME).read_text():
            finished = claim(folder, facts, resume=True)
            assert not finished or (folder / "a").read_text() == "rows"

    assert every_k(error, prepare, work, check) >= 8
