"""What the benchmark of size measures: tables that are what they say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from benchmarks import scale
from benchmarks.measure import alone
from benchmarks.scale import ROLES, write_table
from benchmarks.speed import ALPHA
from proxycal import ProxyCalibrator


def test_the_table_has_its_rows_and_its_bias(tmp_path, monkeypatch):
    monkeypatch.setattr(scale, "GROUP", 700)
    write_table(tmp_path / "t.parquet", 3000)
    file = pq.ParquetFile(tmp_path / "t.parquet")
    assert file.metadata.num_row_groups == 5
    frame = pd.read_parquet(tmp_path / "t.parquet")
    assert frame.shape == (3000, 20)
    assert not frame.duplicated().any()
    model = ProxyCalibrator(ROLES, direction="over").fit(frame)
    assert model.verdict_ != "no bias found"
    assert abs(model.alpha_ - ALPHA) < 4 * model.alpha_se_


def test_a_longer_table_begins_with_the_rows_of_a_shorter_one(tmp_path):
    write_table(tmp_path / "short.parquet", 200)
    write_table(tmp_path / "again.parquet", 200)
    assert (tmp_path / "short.parquet").read_bytes() == (tmp_path / "again.parquet").read_bytes()


def test_a_process_of_its_own_says_what_it_needed(tmp_path):
    write_table(tmp_path / "t.parquet", 600)
    fitted = alone("benchmarks.scale", "fit", tmp_path / "t.parquet", tmp_path / "run")
    model = ProxyCalibrator(ROLES, direction="over").fit(pd.read_parquet(tmp_path / "t.parquet"))
    assert fitted["alpha"] == pytest.approx(model.alpha_, abs=1e-3 * model.alpha_se_)
    assert fitted["peak"] > 50e6
    assert fitted["seconds"] > 0
    alone("benchmarks.scale", "calibrate", tmp_path / "t.parquet", tmp_path / "run")
    written = pd.read_parquet(tmp_path / "run-calibrated")
    assert np.isfinite(written["y_cal"]).all()
    assert len(written) == 600
