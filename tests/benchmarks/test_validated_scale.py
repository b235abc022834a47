"""A large table with few validated rows: the table, every command on a small one, and the page."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks import validated_scale
from benchmarks.speed import ALPHA


def test_a_table_has_its_validated_rows_in_both_files(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.scale.GROUP", 700)
    validated_scale.write_table(tmp_path / "t.parquet", 2000, 50)
    validated_scale.write_csv(tmp_path / "t.parquet", tmp_path / "t.csv")
    table = pd.read_parquet(tmp_path / "t.parquet")
    assert (len(table), table["truth"].notna().sum()) == (2000, 50)
    gap = (table["y"] - table["truth"]).dropna().to_numpy()
    # Reports without noise: the truth, or the truth and the bias.
    np.testing.assert_allclose(np.minimum(np.abs(gap), np.abs(gap - ALPHA)), 0.0, atol=1e-9)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "t.csv"), table)


def test_each_step_is_a_command_of_the_shell(tmp_path):
    table = str(tmp_path / "table.parquet")
    validated_scale.write_table(tmp_path / "table.parquet", 400, 40)
    fitted = validated_scale.run_step("fit", table, str(tmp_path))
    assert fitted["verdict"] == "bias found"
    assert fitted["peak"] > 50e6
    for step in ("audit", "filled"):
        validated_scale.run_step(step, table, str(tmp_path))
    audited = pd.read_parquet(tmp_path / "filled.parquet")
    assert audited["truth"].notna().sum() == 40 + validated_scale.AUDITED


def test_the_page_judges_the_peak():
    rows = [
        {"file": "csv", "step": step, "seconds": 1.0, "peak": peak * 2.0**30, "verdict": ""}
        for step, peak in (("fit", 0.5), ("audit", 2.5))
    ]
    shown = validated_scale.page_of(rows, 1_000_000, 1_000).parts[0].rows
    assert [row["reached"] for row in shown] == ["yes", "**no**"]
