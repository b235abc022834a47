"""Calibration of files: the whole table's answer, in order, none lost, whatever happens.

Parts are whole blocks of `answers.BLOCK` rows, computed as the whole table is: their answers are asked for to
the last digit. A row that stands elsewhere in its block may differ in the last digit, as the processor has
it: there probabilities are asked for to 1e-6, and the rest to as many digits.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from proxycal import ProxyCalibrator, Roles, simulate
from proxycal.cli import main
from proxycal.errors import ProxycalWarning, SettingsError, StoreError, TableError
from proxycal.locks import temporary_file
from proxycal.methods.paper.settings import PaperSettings
from proxycal.scale import calibrate as module
from proxycal.scale import parts, sources
from proxycal.scale.calibrate import calibrate_files
from proxycal.scale.ledger import NAME

if TYPE_CHECKING:
    from pathlib import Path

PART = 2048  # the smallest part there is


def make_table(n: int, seed: int = 1) -> pd.DataFrame:
    """Rows with a category, an id with zeros in front, and a column that has no role."""
    table = simulate(n=n, d_z=2, d_e=3, n_proxies=3, alpha=6.0, random_state=seed).table
    table["hazard"] = np.where(table.pop("e_3") > 0, "flood", "fire")
    table.insert(0, "county", [f"0{i}" for i in range(n)])
    table["note"] = [None if i % 3 else f"row {i}" for i in range(n)]
    return table


def answer_of(model: ProxyCalibrator, table: pd.DataFrame) -> pd.DataFrame:
    """The whole table at once, as it was, with its calibration behind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProxycalWarning)
        return pd.concat([table, model.calibrate(table)], axis=1)


def content_of(folder: Path) -> dict[str, bytes]:
    """The bytes of every file of a folder."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def model() -> ProxyCalibrator:
    roles = Roles("y", ["p_1", "p_2", "p_3"], ["e_1", "e_2", "hazard"], id="county")
    return ProxyCalibrator(roles, direction="over", method="exact", missing="drop").fit(
        make_table(900, seed=0)
    )


@pytest.fixture(scope="module")
def run(model, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("fitted") / "run"
    model.save(folder)
    return folder


@pytest.fixture
def small_batches(monkeypatch):
    """Several batches in a part, in this process."""
    for one in (sources, parts):
        monkeypatch.setattr(one, "BATCH", PART)


def read(folder) -> pd.DataFrame:
    return pd.concat([pd.read_parquet(path) for path in sorted(folder.glob("*.parquet"))], ignore_index=True)


# --- the same answer ---


@pytest.mark.parametrize("method", ["exact", "moments", "paper"])
def test_a_row_has_the_same_answer_in_any_piece(method, model):
    """Single rows, pieces of any size, and the whole."""
    tiny = PaperSettings(d_z=2, width=8, restarts=1, epochs=2, min_steps=0)
    fit = ProxyCalibrator(model.roles, direction="over", method=method, paper=tiny).fit(
        make_table(300, seed=0)
    )
    table = make_table(2500)
    whole = answer_of(fit, table)
    for cut in (1, 7, 500, 2048, 2100):
        starts = range(0, len(table), cut)[:6]
        pieces = pd.concat([answer_of(fit, table.iloc[start : start + cut]) for start in starts])
        pd.testing.assert_frame_equal(pieces, whole.iloc[: len(pieces)], rtol=1e-6, atol=1e-6)


def test_rows_that_are_left_out_do_not_move_the_others(model):
    table = make_table(5000)
    gaps = table.copy()
    gaps.loc[::7, "p_1"] = np.nan
    whole, holed = answer_of(model, table), answer_of(model, gaps)
    kept = gaps["p_1"].notna()
    pd.testing.assert_series_equal(holed.loc[kept, "y_cal"], whole.loc[kept, "y_cal"], rtol=1e-6, atol=1e-6)
    assert holed.loc[~kept, "y_cal"].isna().all()


@pytest.mark.parametrize("group", [500, 2048, 100_000])
def test_parts_of_a_parquet_file_are_the_whole_table(group, model, run, tmp_path, small_batches):
    table = make_table(9000)
    table.to_parquet(tmp_path / "table.parquet", row_group_size=group)
    done = calibrate_files(run, [tmp_path / "table.parquet"], tmp_path / "out", part_rows=2 * PART)
    names = [f"table-{number:05d}.parquet" for number in range(3)]
    assert [os.path.basename(path) for path in done.files] == names
    assert (done.rows, done.tables, done.unanswered, done.resumed) == (9000, 1, 0, 0)
    assert [pq.read_metadata(path).num_rows for path in done.files] == [4096, 4096, 808]
    pd.testing.assert_frame_equal(read(tmp_path / "out"), answer_of(model, table), check_exact=True)
    # The folder as a whole is a table for any reader of Parquet folders.
    assert pd.read_parquet(tmp_path / "out")["county"].tolist() == table["county"].tolist()


def test_several_tables_keep_their_names_and_rows(model, run, tmp_path, small_batches):
    tables = {f"{name}.{ending}": make_table(n, seed=n) for name, n, ending in (
        ("b", 3000, "parquet"), ("a", 100, "csv"), ("c", 5, "csv.gz"))}  # fmt: skip
    for name, table in tables.items():
        path = tmp_path / name
        table.to_parquet(path) if name.endswith("parquet") else table.to_csv(path, index=False)
    done = calibrate_files(run, [tmp_path / name for name in tables], tmp_path / "out", part_rows=10**6)
    assert (done.rows, done.tables) == (3105, 3)
    assert set(content_of(tmp_path / "out")) == {*tables, NAME}
    for name, table in tables.items():
        path, expected = tmp_path / "out" / name, answer_of(model, table)
        if name.endswith("parquet"):
            pd.testing.assert_frame_equal(pd.read_parquet(path), expected, check_exact=True)
        else:
            written = expected.to_csv(index=False, lineterminator="\n")
            assert pd.read_csv(path, dtype=str).equals(pd.read_csv(io.StringIO(written), dtype=str))


@pytest.mark.parametrize("into", ["out.parquet", "out.csv", "out.csv.gz"])
@pytest.mark.parametrize("n", [200, 5000])
def test_one_table_into_one_file(into, n, model, run, tmp_path):
    """Small tables at once, large ones by parts that are joined and leave nothing behind."""
    table = make_table(n)
    table.to_parquet(tmp_path / "table.parquet")
    done = calibrate_files(run, [tmp_path / "table.parquet"], tmp_path / into, part_rows=PART)
    assert (done.files, done.rows) == ((str(tmp_path / into),), n)
    assert set(os.listdir(tmp_path)) == {"table.parquet", into}
    expected = answer_of(model, table)
    if into.endswith("parquet"):
        pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / into), expected, check_exact=True)
    else:
        written = pd.read_csv(tmp_path / into, dtype={"county": str})
        pd.testing.assert_frame_equal(written, expected, check_exact=True)


def test_a_csv_is_written_as_if_it_had_been_read_whole(model, run, tmp_path, small_batches):
    """Rows far into the file decide the type of a column: it must not change on the way."""
    table = make_table(5000).assign(late=[None] * 4900 + [1.5] * 100, code=["07"] * 4990 + ["x"] * 10)
    table.to_csv(tmp_path / "table.csv", index=False)
    calibrate_files(run, [tmp_path / "table.csv"], tmp_path / "out.csv")
    whole = pd.read_csv(tmp_path / "table.csv", dtype={"county": "string"}, low_memory=False)
    assert (tmp_path / "out.csv").read_text() == answer_of(model, whole).to_csv(index=False)


def test_workers_change_no_byte(run, tmp_path):
    make_table(9000).to_parquet(tmp_path / "table.parquet", row_group_size=3000)
    made = []
    for name, how in (("one", {}), ("two", {"jobs": 2})):
        calibrate_files(run, [tmp_path / "table.parquet"], tmp_path / name, part_rows=PART, **how)
        made.append({key: part for key, part in content_of(tmp_path / name).items() if key != NAME})
    assert len(made[0]) == 5
    assert made[0] == made[1]


# --- gaps ---


def test_rows_with_gaps_are_counted_and_kept(model, run, tmp_path, small_batches):
    """A part in which no row is complete is no reason to stop."""
    table = make_table(5000)
    table.loc[:2999, "p_1"] = np.nan
    table.to_parquet(tmp_path / "table.parquet")
    with pytest.warns(ProxycalWarning, match="3000 rows of 5000 had missing values"):
        done = calibrate_files(run, [tmp_path / "table.parquet"], tmp_path / "out", part_rows=PART)
    assert (done.rows, done.unanswered) == (5000, 3000)
    pd.testing.assert_frame_equal(read(tmp_path / "out"), answer_of(model, table), check_exact=True)


def test_a_fit_without_a_finding_says_so_once(model, tmp_path):
    fit = ProxyCalibrator(model.roles, direction="over", method="moments").fit(make_table(900, seed=0))
    fit.result_ = type(fit.result_)(**{**_fields(fit.result_), "verdict": "not identified"})
    fit.save(tmp_path / "run")
    make_table(5000).to_parquet(tmp_path / "table.parquet")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ProxycalWarning)
        done = calibrate_files(
            tmp_path / "run", [tmp_path / "table.parquet"], tmp_path / "out", part_rows=PART
        )
    assert done.verdict == "not identified"
    # The table is of another seed, which is said too.
    assert sum("left as reported" in str(one.message) for one in caught) == 1


def _fields(record) -> dict:
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


# --- going on ---


def _spoil(folder, keep: int) -> None:
    """The folder as a kill leaves it: `keep` parts finished, one half-written, a line of the ledger cut."""
    lines = (folder / NAME).read_text().splitlines(keepends=True)
    for line in lines[1 + keep :]:
        (folder / json.loads(line)["name"]).unlink()
    (folder / NAME).write_text("".join(lines[: 1 + keep]) + lines[1 + keep][:20])
    (folder / ".proxycal-0123456789ab.parquet").write_bytes(b"PAR1 half")


def test_resume_does_what_is_left_and_nothing_else(run, tmp_path):
    make_table(9000).to_parquet(tmp_path / "table.parquet")
    work = (run, [tmp_path / "table.parquet"], tmp_path / "out")
    calibrate_files(*work, part_rows=PART)
    whole = content_of(tmp_path / "out")
    _spoil(tmp_path / "out", keep=2)
    stamps = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("table-*.parquet")}
    assert len(stamps) == 2
    done = calibrate_files(*work, part_rows=PART, resume=True)
    assert (done.rows, done.resumed, len(done.files)) == (9000, 2, 5)
    assert content_of(tmp_path / "out") == whole
    assert all((tmp_path / "out" / name).stat().st_mtime_ns == at for name, at in stamps.items())
    assert calibrate_files(*work, part_rows=PART, resume=True).resumed == 5


def test_a_finished_part_that_was_cut_since_is_made_again(run, tmp_path):
    make_table(5000).to_parquet(tmp_path / "table.parquet")
    work = (run, [tmp_path / "table.parquet"], tmp_path / "out")
    calibrate_files(*work, part_rows=PART)
    whole = content_of(tmp_path / "out")
    (tmp_path / "out" / "table-00001.parquet").write_bytes(b"PAR1")
    assert calibrate_files(*work, part_rows=PART, resume=True).resumed == 2
    assert {**content_of(tmp_path / "out"), NAME: b""} == {**whole, NAME: b""}


def test_different_work_is_never_mixed(model, run, tmp_path):
    table = make_table(5000)
    path, out = tmp_path / "table.parquet", tmp_path / "out"
    table.to_parquet(path)
    calibrate_files(run, [path], out, part_rows=PART)
    with pytest.raises(StoreError, match="pass --resume"):
        calibrate_files(run, [path], out, part_rows=PART)
    other = tmp_path / "other"
    ProxyCalibrator(model.roles, direction="over", method="moments", missing="drop").fit(
        make_table(900, seed=0)
    ).save(other)
    with pytest.raises(StoreError, match="of another fit"):
        calibrate_files(other, [path], out, part_rows=PART, resume=True)
    with pytest.raises(StoreError, match="made in another way"):
        calibrate_files(run, [path], out, part_rows=2 * PART, resume=True)
    shutil.copy(path, tmp_path / "second.parquet")
    with pytest.raises(StoreError, match=r"second\.parquet"):
        calibrate_files(run, [path, tmp_path / "second.parquet"], out, part_rows=PART, resume=True)
    table.assign(y=table["y"] + 1).to_parquet(path)
    with pytest.raises(StoreError, match=r"changed since \('table\.parquet'\)"):
        calibrate_files(run, [path], out, part_rows=PART, resume=True)


def test_a_joined_file_goes_on_too(run, tmp_path, monkeypatch):
    make_table(9000).to_parquet(tmp_path / "table.parquet")
    work = (run, [tmp_path / "table.parquet"])
    calibrate_files(*work, tmp_path / "whole.parquet", part_rows=PART)

    def killed(parts, path):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "join", killed)
        with pytest.raises(KeyboardInterrupt):
            calibrate_files(*work, tmp_path / "out.parquet", part_rows=PART)
    done = calibrate_files(*work, tmp_path / "out.parquet", part_rows=PART, resume=True)
    assert done.resumed == 5
    assert (tmp_path / "out.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()


KILLED = """
import sys
from proxycal.scale.calibrate import calibrate_files
run, table, out = sys.argv[1:]
calibrate_files(run, [table], out, jobs=2, part_rows=2048, resume=True)
"""


@pytest.fixture(scope="module")
def quiet(run, tmp_path_factory) -> Path:
    """A folder with table.parquet, of 30 parts, and what an undisturbed run makes of it."""
    folder = tmp_path_factory.mktemp("quiet")
    make_table(60_000).to_parquet(folder / "table.parquet", row_group_size=10_000)
    calibrate_files(run, [folder / "table.parquet"], folder / "out", part_rows=PART)
    return folder


def _differing(one: Path, two: Path) -> list[str]:
    """Files that two folders do not share to the byte; a ledger has its parts as they were finished."""
    first, second = content_of(one), content_of(two)
    assert first.pop(NAME)
    assert second.pop(NAME)
    return sorted(name for name in {*first, *second} if first.get(name) != second.get(name))


def test_what_a_dying_worker_still_held_is_removed_at_the_end(run, quiet, tmp_path):
    """A worker of a killed run is not gone yet when the next run begins, and holds what it was writing."""
    out = tmp_path / "out"
    shutil.copytree(quiet / "out", out)
    with contextlib.ExitStack() as dying:
        path = dying.enter_context(temporary_file(out, ".parquet"))
        kept = path.with_name(".proxycal-0123456789ab.parquet")
        path.rename(kept)
        done = calibrate_files(
            run,
            [quiet / "table.parquet"],
            out,
            part_rows=PART,
            resume=True,
            progress=lambda *_: dying.close() if kept.exists() else None,
        )
    assert (done.resumed, _differing(out, quiet / "out")) == (30, [])


def test_kill_9_in_the_middle_loses_nothing(run, quiet, tmp_path):
    """All processes of a run are killed while they work; the next run ends with the bytes of a quiet one."""
    table, out = quiet / "table.parquet", tmp_path / "out"
    command = [sys.executable, "-c", KILLED, str(run), str(table), str(out)]
    working = subprocess.Popen(command, start_new_session=True)
    _wait_for_parts(out, 2, working)
    os.killpg(working.pid, signal.SIGKILL)
    working.wait()
    finished = (out / NAME).read_text().count("\n") - 1
    assert 2 <= finished < 30
    done = calibrate_files(run, [table], out, part_rows=PART, resume=True)
    assert (done.rows, done.resumed, len(done.files)) == (60_000, finished, 30)
    assert _differing(out, quiet / "out") == []


def test_dask_loses_a_worker_and_nothing_else(run, quiet, tmp_path):
    """One of two workers is killed while the parts are made: its part is made again."""
    distributed = pytest.importorskip("distributed")
    out = tmp_path / "out"
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        workers = client.run(os.getpid)
        how = {"engine": "dask", "scheduler": cluster.scheduler_address, "part_rows": PART}
        made: list = []
        work = partial(calibrate_files, run, [quiet / "table.parquet"], out, **how)
        thread = Thread(target=lambda: made.append(work()))
        thread.start()
        _wait_for_parts(out, 2)
        os.kill(next(iter(workers.values())), signal.SIGKILL)
        assert len(list(out.glob("table-*.parquet"))) < 30, "the work was not over"
        thread.join(timeout=900)
    assert made[0].rows == 60_000
    assert _differing(out, quiet / "out") == []


def _wait_for_parts(folder, count: int, process: subprocess.Popen | None = None) -> None:
    for _ in range(60_000):
        if (folder / NAME).exists() and (folder / NAME).read_text().count("\n") > count:
            return
        assert process is None or process.poll() is None, "it ended before it could be killed"
        time.sleep(0.01)
    raise TimeoutError("no part was finished")


@pytest.mark.parametrize(("small", "workers"), [(10**9, 1), (0, 7)])
def test_all_cores_are_used_where_that_pays(small, workers, run, tmp_path, monkeypatch):
    make_table(50).to_parquet(tmp_path / "a.parquet")
    monkeypatch.setattr(module, "SMALL", small)
    monkeypatch.setattr(module.joblib, "cpu_count", lambda: 7)
    asked = []
    monkeypatch.setattr(module, "cluster", lambda jobs, *where: asked.append(jobs) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        calibrate_files(run, [tmp_path / "a.parquet"], tmp_path / "out", jobs=None)
    assert asked == [workers]


# --- what is refused ---


def test_trouble_names_table_and_row_and_leaves_nothing(run, tmp_path):
    table = make_table(5000)
    table.loc[4321, "hazard"] = "meteor"
    table.to_parquet(tmp_path / "table.parquet")
    for out in ("out", "out.parquet", "out.csv"):
        with pytest.raises(TableError, match=r"table\.parquet.*meteor.*4321"):
            calibrate_files(run, [tmp_path / "table.parquet"], tmp_path / out, part_rows=10**6)
    assert os.listdir(tmp_path) == ["table.parquet"]


@pytest.mark.parametrize(
    ("tables", "out", "error", "says"),
    [
        ([], "out", StoreError, "no table"),
        (["a.parquet", "b.parquet"], "out.csv", StoreError, "2 tables do not go into one file"),
        (["a.parquet"], "out.xlsx", StoreError, r"\.csv"),
        (["a.parquet"], "none/out.csv", StoreError, "does not exist"),
        (["a.parquet", "again/a.parquet"], "out", StoreError, "both be written to 'a.parquet'"),
        (["a.parquet"], "again", StoreError, "holds other files"),
        (["absent.parquet"], "out", StoreError, "no such file"),
        (["taken.parquet"], "out", TableError, "'mu'"),
        (["narrow.parquet"], "out", TableError, "'p_2'"),
    ],
)
def test_what_is_refused(tables, out, error, says, run, tmp_path):
    (tmp_path / "again").mkdir()
    for name in ("a", "b", "again/a"):
        make_table(50).to_parquet(tmp_path / f"{name}.parquet")
    make_table(50).assign(mu=0.0).to_parquet(tmp_path / "taken.parquet")
    make_table(50).drop(columns="p_2").to_parquet(tmp_path / "narrow.parquet")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(error, match=says):
        calibrate_files(run, [tmp_path / name for name in tables], tmp_path / out)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("how", [{"jobs": 0}, {"engine": "spark"}, {"part_rows": 0}])
def test_options_are_checked(how, run, tmp_path):
    make_table(50).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(SettingsError, match=next(iter(how))):
        calibrate_files(run, [tmp_path / "a.parquet"], tmp_path / "out", **how)
    assert os.listdir(tmp_path) == ["a.parquet"]


# --- memory ---

# Not ru_maxrss, which begins with the memory of the process that started this one.
PEAK = """
import sys
from proxycal.scale.calibrate import calibrate_files
run, table, out = sys.argv[1:]
calibrate_files(run, [table], out)
print(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="peaks are read from Linux")
def test_memory_does_not_grow_with_the_rows(run, tmp_path):
    """Twice the rows, by one process into one file: the peak stays where it is."""
    peaks, table = [], make_table(40_000)
    for times in (12, 24):
        path, out = tmp_path / f"table{times}.parquet", tmp_path / f"out{times}.parquet"
        pd.concat([table] * times, ignore_index=True).to_parquet(path)
        command = [sys.executable, "-c", PEAK, str(run), str(path), str(out)]
        shown = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks.append(int(shown.stdout) / 1024)
        assert pq.read_metadata(out).num_rows == 40_000 * times
    # Read, calibrated and written at once, the further 480,000 rows take more than 150 MiB. Some of what was
    # freed stays with the process.
    assert peaks[1] - peaks[0] < 40, peaks


# --- the command ---


def test_the_command_says_what_it_wrote(run, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        make_table(60).to_csv(f"{name}.csv", index=False)
    command = ["calibrate", str(run), "a.csv", "b.csv", "--out", "out", "--jobs", "1"]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert said.startswith("120 rows calibrated: out, 2 files of 2 tables\n")
    assert said.endswith(f"next:   proxycal totals {run} a.csv b.csv\n")
    assert main(command) == 2
    assert "--resume" in capsys.readouterr().err
    assert main([*command, "--resume", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["rows"], said["tables"], said["resumed"], said["verdict"]) == (120, 2, 2, "bias found")
    assert said["files"] == ["out/a.csv", "out/b.csv"]
