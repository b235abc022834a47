"""What the benchmark of size measures: tables that are what they say, ratios that are what they name."""

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from proxycal import ProxyCalibrator
from proxycal.experiments import bench_null, bench_scale, bench_workers
from proxycal.experiments.bench_scale import ROLES, write_table
from proxycal.experiments.bench_speed import ALPHA, ratios, row


def test_the_table_has_its_rows_and_its_bias(tmp_path, monkeypatch):
    monkeypatch.setattr(bench_scale, "GROUP", 700)
    write_table(tmp_path / "t.parquet", 3000)
    file = pq.ParquetFile(tmp_path / "t.parquet")
    assert file.metadata.num_row_groups == 5
    frame = pd.read_parquet(tmp_path / "t.parquet")
    assert frame.shape == (3000, 20)
    assert not frame.duplicated().any()
    model = ProxyCalibrator(ROLES).fit(frame)
    assert model.verdict_ != "no bias found"
    assert abs(model.alpha_ - ALPHA) < 4 * model.alpha_se_


def test_a_longer_table_begins_with_the_rows_of_a_shorter_one(tmp_path):
    write_table(tmp_path / "short.parquet", 200)
    write_table(tmp_path / "again.parquet", 200)
    assert (tmp_path / "short.parquet").read_bytes() == (tmp_path / "again.parquet").read_bytes()


def test_a_process_of_its_own_says_what_it_needed(tmp_path):
    write_table(tmp_path / "t.parquet", 600)
    fitted = bench_scale._alone("fit", tmp_path / "t.parquet", tmp_path / "run")
    model = ProxyCalibrator(ROLES).fit(pd.read_parquet(tmp_path / "t.parquet"))
    assert fitted["alpha"] == pytest.approx(model.alpha_, abs=1e-3 * model.alpha_se_)
    assert fitted["peak"] > 50e6
    assert fitted["seconds"] > 0
    bench_scale._alone("calibrate", tmp_path / "t.parquet", tmp_path / "run")
    written = pd.read_parquet(tmp_path / "run-calibrated")
    assert np.isfinite(written["y_cal"]).all()
    assert len(written) == 600


def test_the_page_shows_the_ratio():
    page = ratios("Scale", [row("slow over fast", 6.0, 2.0, ">= 1.7")])
    assert page.parts[0].rows[0]["ratio"] == "3.000"


@pytest.mark.filterwarnings("ignore::proxycal.errors.ProxycalWarning")  # whatever 600 rows say
def test_workers_are_compared_at_the_same_work(tmp_path):
    write_table(tmp_path / "600.parquet", 600)
    ProxyCalibrator(ROLES).fit(pd.read_parquet(tmp_path / "600.parquet")).save(tmp_path / "run")
    cells = [bench_null.bench(quick=True).cells[0].settings | {"seeds": [0]}]
    rows = bench_workers._compared("joblib", tmp_path, (600,), cells)
    assert [one["what"].split(":")[0] for one in rows] == ["a sweep of 1 cells", "calibrate 600 rows"]
    assert all(one["ratio"] == pytest.approx(one["ours"] / one["other"]) for one in rows)
    assert {path.name for path in tmp_path.iterdir()} == {"600.parquet", "run"}
