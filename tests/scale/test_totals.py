"""Totals of frames, files and Dask frames: the same numbers, and one line for bad input."""

from __future__ import annotations

import warnings
from dataclasses import replace

import dask.dataframe
import numpy as np
import pandas as pd
import polars as pl
import pytest

import proxycal as pc
from proxycal.errors import ProxycalWarning, TableError
from proxycal.scale.totals import totals_files

COLUMNS = ["rows", "reported", "calibrated", "low", "high", "change_pct", "as_reported_rows", "as_reported"]


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


@pytest.fixture(scope="module")
def with_gaps(case):
    """Ten rows without a proxy, the first of them without a report as well."""
    _, table, _ = case
    sim = pc.simulate(n=500, alpha=3.0, random_state=0)
    gaps = table.copy()
    gaps.loc[:9, sim.roles.proxies[0]] = np.nan
    gaps.loc[0, "y"] = np.nan
    return pc.ProxyCalibrator(sim.roles, direction="over", method="moments", missing="drop").fit(gaps), gaps


def test_rows_with_gaps_enter_as_reported_and_are_told(with_gaps):
    model, gaps = with_gaps
    with pytest.warns(ProxycalWarning) as told:
        totals = model.totals(gaps, by="region").set_index("region")
    texts = " ".join(str(warning.message) for warning in told)
    assert "9 rows of 500 had missing values and no answer: they are in the totals as reported" in texts
    assert "1 row of 500 had no report and are in no total" in texts
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y_cal = model.calibrate(gaps)["y_cal"]
    entered = y_cal.fillna(gaps["y"])
    regions = [*entered.groupby(gaps["region"]).sum(), entered.sum()]
    np.testing.assert_allclose(totals["calibrated"], regions)
    np.testing.assert_allclose(
        totals["reported"], [*gaps["y"].groupby(gaps["region"]).sum(), gaps["y"].sum()]
    )
    assert totals["rows"].iloc[-1] == 499
    assert totals["as_reported_rows"].iloc[-1] == totals["as_reported_rows"].iloc[:-1].sum() == 9
    np.testing.assert_allclose(totals["as_reported"].iloc[-1], gaps.loc[1:9, "y"].sum())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mean = model.totals(gaps, statistic="mean").iloc[0]
    np.testing.assert_allclose(mean["calibrated"], entered.mean())


def test_the_totals_of_a_fit_hold_the_same_rows(with_gaps):
    model, gaps = with_gaps
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asked = model.totals(gaps, statistic=model.result_.totals[0].statistic).iloc[0]
    for name, value in model.result_.totals[0].columns().items():
        np.testing.assert_allclose(value[-1], asked[name])


def test_rows_of_a_group_without_an_answer_have_no_interval(with_gaps):
    model, gaps = with_gaps
    apart = gaps.assign(region=np.where(gaps.index < 10, "north", gaps["region"]))
    with pytest.warns(ProxycalWarning):
        totals = model.totals(apart, by="region").set_index("region")
    assert totals.loc["north", "rows"] == totals.loc["north", "as_reported_rows"] == 9
    assert totals.loc["north", "calibrated"] == totals.loc["north", "reported"]
    assert np.isnan(totals.loc["north", "low"])
    np.testing.assert_allclose(totals["calibrated"].iloc[:-1].sum(), totals["calibrated"].iloc[-1])


def test_a_table_without_any_complete_row_is_refused(with_gaps):
    model, gaps = with_gaps
    with pytest.raises(TableError, match="all 10 rows"):
        model.totals(gaps.iloc[:10])


@pytest.fixture(scope="module")
def with_truths():
    """Twenty validated rows at the top, one real gap, and a report that nobody doubts."""
    sim = pc.simulate(n=500, alpha=3.0, random_state=3)
    truth = sim.truth["y_true"].where(sim.table.index < 20)
    table = sim.table.assign(checked=truth, sure=sim.table.index % 50 == 7, region=sim.table.index % 2)
    table.loc[300, sim.roles.proxies[0]] = np.nan
    roles = replace(sim.roles, truth="checked", trusted="sure")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = pc.ProxyCalibrator(roles, direction="over", method="moments", missing="drop").fit(table)
    return model, table


def test_totals_are_the_sum_of_what_calibration_says_also_of_validated_rows(with_truths):
    model, table = with_truths
    assert model.verdict_ == "bias found"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        totals = model.totals(table, by="region")
        y_cal = model.calibrate(table)["y_cal"].fillna(table["y"])
    np.testing.assert_allclose(totals["calibrated"], [*y_cal.groupby(table["region"]).sum(), y_cal.sum()])


def test_rows_do_not_vanish_where_nobody_was_validated(with_truths, tmp_path):
    """Files of which one holds no truth and no trusted row: their columns are blank by design."""
    model, table = with_truths
    table = table.assign(sure=table["sure"].where(table.index < 250))
    parts = table.iloc[:250], table.iloc[250:]
    for name, part in zip("ab", parts, strict=True):
        part.to_csv(tmp_path / f"{name}.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        files = totals_files(model.result_, [tmp_path / "a.csv", tmp_path / "b.csv"]).iloc[0]
        whole = model.totals(table).iloc[0]
        later = model.totals(parts[1].drop(index=300)).iloc[0]
    assert files["rows"] == whole["rows"] == 500
    assert files["as_reported_rows"] == 1
    np.testing.assert_allclose(files["calibrated"], whole["calibrated"])
    assert later["rows"] == 249
    assert later["as_reported_rows"] == 0


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
        ({"by": "many"}, "column 'many' has .,... levels or more"),
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
