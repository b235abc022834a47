"""Rows of large tables and files that are compared: drawn alike wherever pieces are cut."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import proxycal
from month_tables import ROLES, rows
from proxycal.drift.run import MOST_ROWS
from proxycal.errors import UnitsError
from proxycal.scale import drift as scale_drift
from proxycal.scale.drift import SomeRows, check_sources, drift_of_files
from proxycal.scale.sources import look_at


@pytest.fixture(scope="module")
def fit():
    model = proxycal.ProxyCalibrator(ROLES, direction="under", method="moments", log_proxies=["area"])
    return model.fit(rows(500, seed=1)).result_


def test_the_same_rows_wherever_the_table_is_cut():
    frame = pd.DataFrame({"x": np.arange(50_000.0)})
    whole = SomeRows.of(frame)
    assert len(whole.frame) == MOST_ROWS
    for cut in (100, 30_000):
        parts = SomeRows.of(frame[:cut]) + SomeRows.of(frame[cut:])
        assert set(parts.frame["x"]) == set(whole.frame["x"])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_one_file_of_several_is_named(fit, tmp_path, ending):
    names = []
    for month, factor in ((1, 1.0), (2, 1.0), (3, 1000.0)):
        table = rows(400, seed=month + 1)
        table["loss"] *= factor
        names.append(str(tmp_path / f"month{month}.{ending}"))
        table.to_csv(names[-1], index=False) if ending == "csv" else table.to_parquet(names[-1])
    sources = [look_at(name) for name in names]
    assert check_sources(fit, sources[:2]).units == ()
    with pytest.raises(UnitsError, match="month3"):
        check_sources(fit, sources)
    assert drift_of_files(fit, names[:2]).compared == 800


def test_a_long_parquet_file_is_looked_at_in_places(fit, tmp_path, monkeypatch):
    monkeypatch.setattr(scale_drift, "WHOLE", 500)
    table = rows(1000, seed=2)
    table.loc[600:, "income"] *= 1.5
    table.to_parquet(tmp_path / "long.parquet", row_group_size=100)
    found = drift_of_files(fit, [tmp_path / "long.parquet"])
    assert "income" in [row.column for row in found.drifted]


def test_what_cannot_be_read_is_left_to_who_reads_all_rows(fit, tmp_path):
    rows(50, seed=3).assign(region="east").to_csv(tmp_path / "east.csv", index=False)
    assert check_sources(fit, [look_at(str(tmp_path / "east.csv"))]) is None
