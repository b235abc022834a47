"""One map, whoever runs it: the same results to the last digit, as they are done; lost workers explained."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from proxycal.errors import EngineError, SettingsError
from proxycal.parallel import check_scheduler, map_as_done
from proxycal.parallel import cluster as local_cluster


@pytest.fixture(scope="module")
def cluster():
    """A Dask cluster that was there before; its workers run two pieces of work at a time."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=":0") as running:
        yield running


def spectrum(seed: int) -> list[float]:
    """Linear algebra whose last digits depend on the number of threads."""
    x = np.random.default_rng(seed).normal(size=(400, 300))
    return [float(one) for one in np.linalg.eigvalsh(x.T @ x)]


def threads(_: int) -> int:
    np.ones((2, 2)) @ np.ones((2, 2))
    return max(one["num_threads"] for one in threadpool_info())


def fail_on_two(item: int) -> int:
    if item == 2:
        raise ValueError("two")
    return item


def wait_for(path: Path, wait: bool) -> str:
    if not wait:
        return "no need to wait"
    for _ in range(6000):  # a busy machine is slow: five minutes
        if path.exists():
            return "waited"
        time.sleep(0.05)
    raise TimeoutError("the other result never arrived")


def die_once(marker: Path, item: int) -> int:
    """Kill the process that does item 1, the first time."""
    if item == 1 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 10 * item


def test_items_keep_their_positions():
    assert sorted(map_as_done(str, [5, 3, 4])) == [(0, "5"), (1, "3"), (2, "4")]
    assert list(map_as_done(str, [])) == []


def test_joblib_and_dask_agree_to_the_last_digit(cluster):
    alone = dict(map_as_done(spectrum, range(4)))
    assert len(alone) == 4
    assert dict(map_as_done(spectrum, range(4), jobs=2)) == alone
    assert dict(map_as_done(spectrum, range(4), engine="dask", scheduler=cluster.scheduler_address)) == alone


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_piece_of_work_has_one_thread(jobs):
    with threadpool_limits(2):
        assert {count for _, count in map_as_done(threads, range(3), jobs=jobs)} == {1}
        assert threads(0) == 2, "the limit is lifted afterwards"


@pytest.mark.parametrize("engine", ["joblib", "dask"])
def test_results_come_as_they_are_done(tmp_path, engine, cluster):
    """Item 0 waits for a file that is written only when the result of item 1 has arrived."""
    scheduler = cluster.scheduler_address if engine == "dask" else None
    work = partial(wait_for, tmp_path / "received")
    results = map_as_done(work, [True, False], jobs=2, engine=engine, scheduler=scheduler)
    assert next(results) == (1, "no need to wait")
    (tmp_path / "received").touch()
    assert list(results) == [(0, "waited")]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_of_the_work_is_the_callers(jobs):
    with pytest.raises(ValueError, match="two"):
        list(map_as_done(fail_on_two, [1, 2, 3], jobs=jobs))


def test_a_lost_process_is_explained(tmp_path):
    with pytest.raises(EngineError, match="fewer jobs"):
        list(map_as_done(partial(die_once, tmp_path / "died"), range(4), jobs=2))


def test_dask_does_the_work_of_a_lost_worker_again(tmp_path):
    work = partial(die_once, tmp_path / "died")
    results = dict(map_as_done(work, range(4), jobs=2, engine="dask"))
    assert (tmp_path / "died").exists()
    assert results == {0: 0, 1: 10, 2: 20, 3: 30}


def test_an_existing_cluster_is_used_and_left_running(cluster):
    address = cluster.scheduler_address
    assert {count for _, count in map_as_done(threads, range(6), engine="dask", scheduler=address)} == {1}
    assert dict(map_as_done(abs, [-1, -2], engine="dask", scheduler=address)) == {0: 1, 1: 2}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"jobs": 0}, "jobs=0"),
        ({"engine": "spark"}, "'joblib' or 'dask'"),
        ({"scheduler": "tcp://127.0.0.1:1"}, "engine='dask'"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(SettingsError, match=message):
        list(map_as_done(abs, [1], **options))


def pid_of(_: int) -> int:
    time.sleep(0.05)
    return os.getpid()


def test_there_are_no_more_processes_than_cores_and_items():
    pids = {pid for _, pid in map_as_done(pid_of, range(40), jobs=100_000)}
    assert len(pids) <= joblib.cpu_count()
    assert {pid for _, pid in map_as_done(pid_of, [1], jobs=100_000)} == {os.getpid()}


@pytest.mark.parametrize("engine", ["joblib", "dask"])
def test_a_scheduler_that_does_not_answer_is_refused_before_any_work(engine, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("proxycal.parallel.ANSWER_WITHIN", "1s")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(SettingsError, match=r"no Dask scheduler answers|belongs to engine='dask'"):
            check_scheduler(engine, address)


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs Linux's /proc to see who listens")
def test_a_local_cluster_listens_on_this_computer_only_and_its_workers_keep_their_memory(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    before = listeners()
    with local_cluster(1) as address:
        assert address.startswith("tcp://127.0.0.1:")
        assert {host for host, _ in listeners() - before} == {"0100007F"}
        asked = ["MALLOC_TRIM_THRESHOLD_", "OMP_NUM_THREADS"]
        told = dict(map_as_done(os.environ.get, asked, engine="dask", scheduler=address))
    assert told == {0: None, 1: "1"}


def listeners() -> set[tuple[str, str]]:
    """Host and port, in hexadecimal, of the sockets on which this process listens."""
    found = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":
                found[f"socket:[{fields[9]}]"] = tuple(fields[1].split(":"))
    held = {os.readlink(entry) for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()}
    return {place for name, place in found.items() if name in held}


def test_workers_end_when_their_program_is_killed(tmp_path):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_parallel, functools, pathlib\n"
        "from proxycal.parallel import map_as_done\n"
        "work = functools.partial(test_parallel.note_and_wait, pathlib.Path(sys.argv[2]))\n"
        "list(map_as_done(work, range(2), jobs=2))\n"
    )
    here = Path(__file__).parent
    paths = os.pathsep.join([str(here), *sys.path])
    program = subprocess.Popen(
        [sys.executable, "-c", code, str(here), str(tmp_path)], env={**os.environ, "PYTHONPATH": paths}
    )
    until(lambda: len(list(tmp_path.iterdir())) == min(2, joblib.cpu_count()))
    workers = [int(path.name) for path in tmp_path.iterdir()]
    program.kill()
    program.wait()
    until(lambda: not any(is_alive(pid) for pid in workers))


def note_and_wait(folder: Path, _: int) -> None:
    (folder / str(os.getpid())).touch()
    time.sleep(600)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(condition) -> None:
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.05)
    raise TimeoutError("it never came true")
