"""Files are written whole or not at all, and a run folder that is not what was saved is refused."""

from __future__ import annotations

import errno
import gzip
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
import polars as pl
import pytest

from proxycal.errors import StoreError
from proxycal.files import atomic_file, read_table, write_table, write_text
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


# --- tables -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_tables_come_back_exactly(tmp_path, name, kind):
    columns = {"y": [0.1 + 0.2, 1e-300, -1 / 3], "who": ["a", 'b,"c"', "é\n"]}
    write_table(kind(columns), tmp_path / name)
    pd.testing.assert_frame_equal(read_table(tmp_path / name), pd.DataFrame(columns), check_exact=True)
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_gz_is_compressed_and_parquet_is_parquet(tmp_path):
    frame = pd.DataFrame({"y": [1.0]})
    write_table(frame, tmp_path / "t.csv.gz")
    write_table(frame, tmp_path / "t.parquet")
    assert gzip.decompress((tmp_path / "t.csv.gz").read_bytes()) == b"y\n1.0\n"
    assert (tmp_path / "t.parquet").read_bytes()[:4] == b"PAR1"


def test_a_named_index_is_written_as_a_column(tmp_path):
    write_table(
        pd.DataFrame({"y": [1.0, 2.0]}, index=pd.Index(["r", "s"], name="county")), tmp_path / "t.csv"
    )
    assert (tmp_path / "t.csv").read_text() == "county,y\nr,1.0\ns,2.0\n"


def test_text_columns_keep_their_zeros(tmp_path):
    (tmp_path / "t.csv").write_text("fips,y\n01001,1\n01003,2\n")
    assert read_table(tmp_path / "t.csv", text=["fips"])["fips"].tolist() == ["01001", "01003"]
    assert read_table(tmp_path / "t.csv")["fips"].tolist() == [1001, 1003]


def test_a_byte_order_mark_is_not_part_of_the_first_name(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbfy,z\n1,2\n")
    assert list(read_table(tmp_path / "t.csv").columns) == ["y", "z"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", r"t\.csv' is empty"),
        ("t.csv", b"\n\n", r"t\.csv' is empty"),
        ("t.csv", b"a,b\n", r"2 columns and no rows"),
        ("t.csv", b"a,b,a\n1,2,3\n", r"two columns named 'a' \(columns 1 and 3\): rename"),
        ("t.csv", b"a,b\n1,caf\xe9\n", r"not UTF-8 text .* 0xe9"),
        ("t.csv", b"a,b\n1,2\n1,2,3\n", r"not a regular CSV"),
        ("t.csv", b"a,b\n1,2,3\n1,2,3\n", r"not a regular CSV"),
        ("t.csv", b"a;b\n1;2\n", r"something other than commas"),
        ("t.csv.gz", b"a,b\n1,2\n", r"gzip"),
        ("t.csv.gz", gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-9], r"gzip"),
        ("t.parquet", b"", r"t\.parquet' is empty"),
        ("t.parquet", b"PAR1 not really", r"not a readable Parquet file"),
        ("t.xlsx", b"PK", r"must end in \.csv, \.csv\.gz or \.parquet"),
    ],
    ids=[
        "empty",
        "blank lines",
        "header only",
        "duplicate header",
        "encoding",
        "long row",
        "long rows",
        "semicolons",
        "not gzip",
        "cut gzip",
        "empty parquet",
        "not parquet",
        "ending",
    ],
)
def test_unreadable_tables_say_why(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(StoreError, match=message):
        read_table(tmp_path / name)


def test_missing_file_and_folder_are_named(tmp_path):
    with pytest.raises(StoreError, match=r"nowhere\.csv' cannot be read: there is no such file"):
        read_table(tmp_path / "nowhere.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(StoreError, match="is a folder"):
        read_table(tmp_path / "folder.csv")


# --- atomic writes ------------------------------------------------------------------------------------


def test_a_failed_write_leaves_the_earlier_file_and_nothing_else(tmp_path):
    write_text(tmp_path / "a.txt", "earlier")

    def fail_halfway() -> None:
        with atomic_file(tmp_path / "a.txt") as temporary:
            temporary.write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_halfway()
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "earlier"


def full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_leaves_the_earlier_table_intact(tmp_path, monkeypatch, call):
    write_text(tmp_path / "a.csv", "x\n1\n")
    monkeypatch.setattr(os, call, full_disk)
    with pytest.raises(StoreError, match=r"a\.csv' cannot be written: No space left on device"):
        write_table(pd.DataFrame({"x": [2]}), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "x\n1\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize("call", ["fsync", "rename"])
def test_a_full_disk_leaves_the_earlier_run_intact(run_folder, monkeypatch, call):
    monkeypatch.setattr(os, call, full_disk)
    with pytest.raises(StoreError, match="run' cannot be written: No space left on device"):
        save_run(run_folder, small_run(1))
    monkeypatch.undo()
    assert same(load_run(run_folder), small_run(0))
    assert [entry.name for entry in run_folder.parent.iterdir()] == ["run"]


def test_a_file_size_limit_is_one_clear_error(tmp_path):
    code = """
import resource, signal, sys
import pandas as pd
from proxycal.errors import StoreError
from proxycal.files import write_table
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_table(pd.DataFrame({"x": range(10000)}), sys.argv[1])
except StoreError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a.csv")], capture_output=True, text=True
    )
    assert "cannot be written: File too large" in done.stdout, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_unwritable_places_are_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"folder '.*nowhere' does not exist"):
        write_text(tmp_path / "nowhere" / "a.txt", "")
    with pytest.raises(StoreError, match="not an ordinary file"):
        write_text(tmp_path, "")
    with pytest.raises(StoreError, match="is a file: choose another name"):
        save_run(tmp_path / "file", small_run())
    with pytest.raises(StoreError, match="cannot be written"):
        save_run(tmp_path / "file" / "run", small_run())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_one_clear_error(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="Permission denied"):
        write_text(tmp_path / "a.txt", "")


def test_killed_at_any_moment_a_run_folder_is_whole(tmp_path):
    code = """
import sys
sys.path.insert(0, sys.argv[2])
from test_store import small_run
from proxycal.store.folder import save_run
print("ready", flush=True)
while True:
    for seed in range(2):
        save_run(sys.argv[1], small_run(seed))
"""
    folder = tmp_path / "run"
    save_run(folder, small_run(0))
    (folder / "notes.txt").write_text("mine")
    moments = random.Random(0)
    for _ in range(4):
        command = [sys.executable, "-c", code, str(folder), str(Path(__file__).parent)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(moments.uniform(0.0, 0.2))
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        found = load_run(folder)
        assert same(found, small_run(found.results["seed"]))
    save_run(folder, small_run(0))
    assert (folder / "notes.txt").read_text() == "mine"


def test_a_save_killed_between_its_two_renames_is_undone(run_folder):
    (run_folder / "notes.txt").write_text("mine")
    os.rename(run_folder, run_folder.parent / ".run.previous")
    assert same(load_run(run_folder), small_run(0))
    os.rename(run_folder, run_folder.parent / ".run.previous")
    save_run(run_folder, small_run(1))
    assert same(load_run(run_folder), small_run(1))
    assert (run_folder / "notes.txt").read_text() == "mine"
    assert [entry.name for entry in run_folder.parent.iterdir()] == ["run"]


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
