"""Totals of frames, files and Dask frames: the same numbers, and one line for bad input."""

from __future__ import annotations

import warnings

import dask.dataframe
import numpy as np
import pandas as pd
import polars as pl
import pytest

import proxycal as pc
from proxycal.errors import ProxycalWarning, TableError
from proxycal.scale.totals import totals_files

COLUMNS = ["rows", "reported", "calibrated", "low", "high", "change_pct"]


@pytest.fixture(scope="module")
def case():
    sim = pc.simulate(n=500, alpha=3.0, random_state=0)
    rng = np.random.default_rng(0)
    table = sim.table.assign(
        region=rng.choice(["east", "west"], 500), w=rng.random(500), year=rng.integers(2019, 2022, 500)
    )
    return (
        pc.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(table),
        table,
        sim.truth["y_true"],
    )


def test_reported_and_calibrated_are_sums(case):
    model, table, _ = case
    totals = model.totals(table, by="region").set_index("region")
    assert list(totals.columns) == COLUMNS
    assert list(totals.index) == ["east", "west", "overall"]
    y = table[model.roles.outcome]
    np.testing.assert_allclose(totals["reported"], [*y.groupby(table["region"]).sum(), y.sum()])
    y_cal = model.calibrate(table)["y_cal"]
    np.testing.assert_allclose(totals["calibrated"], [*y_cal.groupby(table["region"]).sum(), y_cal.sum()])
    assert ((totals["low"] < totals["calibrated"]) & (totals["calibrated"] < totals["high"])).all()
    mean = model.totals(table, weights="w", statistic="mean").iloc[0]
    np.testing.assert_allclose(mean["calibrated"], np.average(y_cal, weights=table["w"]))


def test_frames_files_and_dask_agree(case, tmp_path):
    model, table, _ = case
    wanted = model.totals(table, by="year", weights="w")
    assert wanted["year"].tolist() == ["2019", "2020", "2021", "overall"]
    polars = model.totals(pl.from_pandas(table), by="year", weights="w")
    assert isinstance(polars, pl.DataFrame)
    half = table.iloc[:200], table.iloc[200:]
    half[0].to_parquet(tmp_path / "a.parquet")
    half[1].to_parquet(tmp_path / "b.parquet")
    files = totals_files(
        model.result_, [tmp_path / "a.parquet", tmp_path / "b.parquet"], by="year", weights="w"
    )
    partitions = model.totals(dask.dataframe.from_pandas(table, npartitions=3), by="year", weights="w")
    for other in (polars.to_pandas(), files, partitions):
        pd.testing.assert_frame_equal(other, wanted, check_dtype=False, rtol=1e-9)


def test_rows_with_gaps_are_counted_and_told(case):
    _, table, _ = case
    sim = pc.simulate(n=500, alpha=3.0, random_state=0)
    gaps = table.copy()
    gaps.loc[:9, sim.roles.proxies[0]] = np.nan
    model = pc.ProxyCalibrator(sim.roles, direction="over", method="moments", missing="drop").fit(gaps)
    with pytest.warns(ProxycalWarning, match="10 rows of 500 had missing values and are in no total"):
        assert model.totals(gaps)["rows"].tolist() == [490]
    with pytest.raises(TableError, match="all 10 rows"):
        model.totals(gaps.iloc[:10])


def test_without_a_finding_nothing_is_changed_and_the_reason_is_told():
    sim = pc.simulate(n=300, alpha=0.0, random_state=1)
    model = pc.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(sim.table)
    with pytest.warns(ProxycalWarning, match="left as reported"):
        totals = model.totals(sim.table).iloc[0]
    assert totals["calibrated"] == totals["reported"]
    assert np.isnan(totals["low"])


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"by": "regio"}, "no column 'regio' for the groups of the totals"),
        ({"by": "many"}, "'many' has 5,000 levels or more"),
        ({"by": "gap"}, "'gap' .* holds 1 missing value"),
        ({"weights": "minus"}, r"'minus' \(weights\) holds 1 negative value"),
        ({"weights": "region"}, r"'region' \(weights\) must be numeric"),
        ({"weights": "none"}, "no column 'none' for the weights"),
        ({"weights": "zero"}, r"'zero' \(weights\) is 0 in all 5000 rows"),
        ({"weights": np.ones(5000)}, "weights must be the name of one column of the table, not a ndarray"),
        ({"by": ["region"]}, "by must be the name of one column of the table, not a list"),
    ],
)
def test_bad_input_is_one_line(case, asked, words):
    model, table, _ = case
    large = pd.concat([table] * 10, ignore_index=True)
    bad = large.assign(
        many=np.arange(5000),
        gap=large["region"].where(large.index != 7),
        minus=np.where(large.index == 3, -1.0, 1.0),
        zero=0.0,
    )
    with pytest.raises(TableError, match=words) as caught:
        model.totals(bad, **asked)
    assert "\n" not in str(caught.value)


def test_coverage_of_totals():
    """Twenty tables: about 19 of 20 intervals hold the true total, overall and in halves."""
    held = []
    for seed in range(20):
        sim = pc.simulate(n=400, alpha=2.0, random_state=seed + 50)
        table = sim.table.assign(half=np.arange(400) % 2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ProxycalWarning)
            totals = (
                pc.ProxyCalibrator(sim.roles, direction="over", method="moments")
                .fit(table)
                .totals(table, by="half")
            )
        true = sim.truth["y_true"]
        wanted = [true[::2].sum(), true[1::2].sum(), true.sum()]
        held += [low <= t <= high for low, high, t in zip(totals["low"], totals["high"], wanted, strict=True)]
    assert 0.85 <= np.mean(held) <= 1.0
