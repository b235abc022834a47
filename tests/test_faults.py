"""A disk that is full and a disk that may not be written: one clear error, earlier results intact."""

from __future__ import annotations

import subprocess

import numpy as np
import pandas as pd
import pytest

from proxycal import ProxyCalibrator, load, simulate
from proxycal.errors import StoreError
from proxycal.files import write_table


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
