"""One worker against two."""

from __future__ import annotations

import pandas as pd
import pytest

from benchmarks import null, workers
from benchmarks.scale import ROLES, write_table
from proxycal import ProxyCalibrator


def test_workers_are_compared_at_the_same_work(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "ROUNDS", 1)
    write_table(tmp_path / "2000.parquet", 2000)
    ProxyCalibrator(ROLES, direction="over", method="moments").fit(
        pd.read_parquet(tmp_path / "2000.parquet")
    ).save(tmp_path / "run")
    cells = [null.bench(quick=True).cells[0].settings | {"seeds": [0]}]
    rows = workers.compared("joblib", tmp_path, (2000,), cells)
    assert [line["what"].split(":")[0] for line in rows] == ["a sweep of 1 cells", "calibrate 2,000 rows"]
    assert all(line["ratio"] == pytest.approx(line["ours"] / line["other"]) for line in rows)
    assert {path.name for path in tmp_path.iterdir()} == {"2000.parquet", "run"}
