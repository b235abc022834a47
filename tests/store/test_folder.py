"""A run folder is written whole or not at all, and one that is not what was saved is refused."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from proxycal.errors import StoreError
from proxycal.locks import hidden_name
from proxycal.store import folder as store
from proxycal.store.folder import Run, load_run, save_run


def small_run(seed: int = 0) -> Run:
    rng = np.random.default_rng(seed)
    return Run(
        config='method = "paper"\n',
        roles={"outcome": "y é"},
        encoder={"mean": [1 / 3]},
        results={"alpha": 0.1 + 0.2, "seed": seed},
        versions={"numpy": "1"},
        tensors={
            "w": rng.normal(size=(3, 2)).astype(np.float32),
            "n": np.arange(4),
            "b": np.array([True, False]),
        },
        labels=np.array(["01", "é; b"], dtype=object),
        rows=pd.DataFrame(
            {"where": ["a", "b"], "y_obs": rng.normal(size=2), "kind": pd.Categorical(["u", "v"])}
        ),
        history={"content.train.loss": rng.normal(size=5), "bias.train.loss": rng.normal(size=3)},
    )


def same(left: Run, right: Run) -> bool:
    plain = all(
        getattr(left, name) == getattr(right, name)
        for name in ("config", "roles", "encoder", "results", "versions")
    )
    tensors = all(
        left.tensors[key].dtype == right.tensors[key].dtype
        and np.array_equal(left.tensors[key], right.tensors[key])
        for key in left.tensors | right.tensors
    )
    history = all(
        np.array_equal(left.history[key], right.history[key]) for key in left.history | right.history
    )
    pd.testing.assert_frame_equal(left.rows, right.rows)
    return plain and tensors and history and left.labels.tolist() == right.labels.tolist()


@pytest.fixture
def run_folder(tmp_path):
    save_run(tmp_path / "run", small_run())
    return tmp_path / "run"


# --- atomic writes ------------------------------------------------------------------------------------


def full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("call", ["fsync", "rename"])
def test_a_full_disk_leaves_the_earlier_run_intact(run_folder, monkeypatch, call):
    monkeypatch.setattr(os, call, full_disk)
    with pytest.raises(StoreError, match="run' cannot be written: No space left on device"):
        save_run(run_folder, small_run(1))
    monkeypatch.undo()
    assert same(load_run(run_folder), small_run(0))
    assert [entry.name for entry in run_folder.parent.iterdir()] == ["run"]


def test_places_that_cannot_hold_a_run_are_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="is a file: choose another name"):
        save_run(tmp_path / "file", small_run())
    with pytest.raises(StoreError, match="cannot be written"):
        save_run(tmp_path / "file" / "run", small_run())


def save_for_ever(folder: str) -> None:
    while True:
        for seed in range(2):
            save_run(folder, small_run(seed))


# Imports once; then each line that names a folder is a new process that saves there.
FORKING = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from test_folder import save_for_ever
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that are killed
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        save_for_ever(line.rstrip())
    print(pid, flush=True)
"""


@pytest.fixture(scope="module")
def start_saving():
    """start_saving(folder): the id of a new process that saves runs there until it is killed."""
    command = [sys.executable, "-c", FORKING, str(Path(__file__).parent)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as forking:

        def start(folder: Path) -> int:
            print(folder, file=forking.stdin, flush=True)
            return int(forking.stdout.readline())

        yield start
        forking.stdin.close()


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    while lives(pid):
        time.sleep(0.001)


def test_killed_at_any_moment_a_run_folder_is_whole(tmp_path, start_saving):
    folder = tmp_path / "run"
    save_run(folder, small_run(0))
    (folder / "notes.txt").write_text("mine")
    moments = random.Random(0)
    for _ in range(8):
        pid = start_saving(folder)
        time.sleep(moments.uniform(0.0, 0.2))
        kill(pid)
        found = load_run(folder)
        assert same(found, small_run(found.results["seed"]))
    save_run(folder, small_run(0))
    assert (folder / "notes.txt").read_text() == "mine"


def test_a_save_killed_between_its_two_renames_is_undone(run_folder):
    (run_folder / "notes.txt").write_text("mine")
    os.rename(run_folder, hidden_name("old", run_folder))
    assert same(load_run(run_folder), small_run(0))
    os.rename(run_folder, hidden_name("old", run_folder))
    save_run(run_folder, small_run(1))
    assert same(load_run(run_folder), small_run(1))
    assert (run_folder / "notes.txt").read_text() == "mine"
    assert [entry.name for entry in run_folder.parent.iterdir()] == ["run"]


def test_who_reads_while_others_save_gets_the_old_or_the_new_whole(run_folder, start_saving):
    writers = [start_saving(run_folder) for _ in range(2)]
    try:
        seen = set()
        for _ in range(200):
            found = load_run(run_folder)
            assert same(found, small_run(found.results["seed"]))
            seen.add(found.results["seed"])
        assert all(map(lives, writers))
    finally:
        for writer in writers:
            kill(writer)
    assert seen == {0, 1}


def test_a_hidden_folder_of_the_user_is_never_touched(run_folder):
    for name in (".run.previous", ".run.tmp", ".proxycal-mine", ".proxycal-0123456789abc"):
        (run_folder.parent / name).mkdir()
        (run_folder.parent / name / "thesis.txt").write_text("mine")
    save_run(run_folder, small_run(1))
    load_run(run_folder)
    left = sorted(path.read_text() for path in run_folder.parent.glob(".*/thesis.txt"))
    assert left == ["mine"] * 4


def test_what_a_killed_save_left_is_removed_by_the_next(tmp_path):
    left = tmp_path / "new" / ".proxycal-0123456789ab.run"
    left.mkdir(parents=True)
    (left / "config.toml").write_text("half")
    save_run(tmp_path / "new" / "run", small_run())
    assert [entry.name for entry in (tmp_path / "new").iterdir()] == ["run"]


def test_a_link_is_followed_and_stays_a_link(run_folder):
    link = run_folder.parent / "link"
    link.symlink_to(run_folder, target_is_directory=True)
    save_run(link, small_run(1))
    assert link.is_symlink()
    assert same(load_run(link), small_run(1))
    assert same(load_run(run_folder), small_run(1))


def test_the_permissions_of_a_run_are_kept(run_folder):
    run_folder.chmod(0o750)
    (run_folder / "rows.parquet").chmod(0o640)
    save_run(run_folder, small_run(1))
    assert run_folder.stat().st_mode & 0o777 == 0o750
    assert (run_folder / "rows.parquet").stat().st_mode & 0o777 == 0o640


def test_answers_of_two_programs_are_both_kept(run_folder):
    store.keep_questions(run_folder, {"null": {"a": 1}})
    store.keep_questions(run_folder, {"power": {"b": 2}})
    assert load_run(run_folder).questions == {"null": {"a": 1}, "power": {"b": 2}}


@pytest.mark.parametrize("version", [0, -1, 1e400, True, "3", None, [3]])
def test_a_format_that_never_was_is_damage(run_folder, version):
    manifest = json.loads((run_folder / "manifest.json").read_text())
    (run_folder / "manifest.json").write_text(json.dumps(manifest | {"format": version}))
    with pytest.raises(StoreError, match="damaged"):
        load_run(run_folder)


# --- run folders --------------------------------------------------------------------------------------


def test_a_run_comes_back_exactly(run_folder):
    assert same(load_run(run_folder), small_run())
    assert sorted(entry.name for entry in run_folder.iterdir()) == sorted([*store.RUN_FILES, "manifest.json"])


def test_same_run_same_bytes(tmp_path):
    for name in ("one", "two"):
        save_run(tmp_path / name, small_run())
    for name in (*store.RUN_FILES, "manifest.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_saving_again_replaces_the_run_keeps_own_files_and_drops_the_report(run_folder):
    (run_folder / "calibrated.csv").write_text("mine")
    (run_folder / "report.html").write_text("of the earlier run")
    save_run(run_folder, small_run(1))
    assert same(load_run(run_folder), small_run(1))
    assert (run_folder / "calibrated.csv").read_text() == "mine"
    assert not (run_folder / "report.html").exists()
    assert [entry.name for entry in run_folder.parent.iterdir()] == ["run"]


def test_a_folder_with_other_files_is_not_touched(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(StoreError, match=r"holds other files \('thesis\.txt'\)"):
        save_run(tmp_path, small_run())
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.txt"]


def test_no_such_run_and_no_run(tmp_path):
    with pytest.raises(StoreError, match="there is no run folder"):
        load_run(tmp_path / "nowhere")
    with pytest.raises(StoreError, match=r"is not a run folder \(no manifest\.json\)"):
        load_run(tmp_path)


def test_a_newer_format_asks_for_an_upgrade(run_folder):
    manifest = json.loads((run_folder / "manifest.json").read_text())
    (run_folder / "manifest.json").write_text(json.dumps(manifest | {"format": store.FORMAT + 1}))
    with pytest.raises(StoreError, match=r"newer proxycal .*upgrade"):
        load_run(run_folder)


@pytest.mark.parametrize("name", [*store.RUN_FILES, "manifest.json"])
def test_truncated_edited_missing_and_linked_files_are_named(run_folder, name):
    path = run_folder / name
    whole = path.read_bytes()
    middle = len(whole) // 2
    for content in (b"", whole[:middle], whole[:middle] + b"#" + whole[middle + 1 :]):
        path.write_bytes(content)
        # An edited manifest may still be one; then it is the first file that does not fit it that is named.
        named = name if name != "manifest.json" else ""
        with pytest.raises(StoreError, match=rf"damaged: {named}.*; restore it"):
            load_run(run_folder)
    path.unlink()
    with pytest.raises(StoreError, match=rf"{name}"):
        load_run(run_folder)
    outside = run_folder.parent / f"outside-{name}"
    outside.write_bytes(whole)
    path.symlink_to(outside)
    with pytest.raises(StoreError, match=rf"damaged: {name} is a link that leaves the folder"):
        load_run(run_folder)


def test_a_file_swapped_in_from_another_run_is_refused(run_folder):
    save_run(run_folder.parent / "other", small_run(1))
    for name in ("tensors.safetensors", "results.json", "rows.parquet"):
        whole = (run_folder / name).read_bytes()
        (run_folder / name).write_bytes((run_folder.parent / "other" / name).read_bytes())
        with pytest.raises(StoreError, match=f"{name} was changed or swapped"):
            load_run(run_folder)
        (run_folder / name).write_bytes(whole)


class Bomb:
    """Unpickling this leaves a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str, ...]]:
        return os.mkdir, (str(self.path),)


def resign(folder: Path) -> None:
    """Make the manifest agree with the files, as an attacker would."""
    manifest = json.loads((folder / "manifest.json").read_text())
    for name, entry in manifest["files"].items():
        content = (folder / name).read_bytes()
        entry.update(sha256=hashlib.sha256(content).hexdigest(), bytes=len(content))
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    "name", ["tensors.safetensors", "results.json", "rows.parquet", "history.csv", "config.toml"]
)
def test_a_pickle_in_place_of_a_file_is_refused_and_never_run(run_folder, name):
    mark = run_folder.parent / "executed"
    (run_folder / name).write_bytes(pickle.dumps(Bomb(mark)))
    with pytest.raises(StoreError, match=name):
        load_run(run_folder)
    resign(run_folder)
    with pytest.raises(StoreError, match=f"{name} cannot be understood"):
        load_run(run_folder)
    assert not mark.exists()


def test_a_pickle_beside_the_files_is_refused_and_never_run(run_folder):
    mark = run_folder.parent / "executed"
    (run_folder / "model.pkl").write_bytes(pickle.dumps(Bomb(mark)))
    with pytest.raises(StoreError, match=r"model\.pkl' was put into the run folder by something else"):
        load_run(run_folder)
    assert not mark.exists()


def test_json_that_nests_without_end_is_refused(run_folder):
    (run_folder / "results.json").write_text("[" * 100_000)
    resign(run_folder)
    with pytest.raises(StoreError, match=r"results\.json cannot be understood"):
        load_run(run_folder)
