"""Next month's table, asked of a fitted model: every method, few rows, other frames, run folders."""

from __future__ import annotations

import warnings

import pandas as pd
import polars as pl
import pytest

import proxycal
from month_tables import ROLES, rows
from proxycal.errors import ProxycalWarning, UnitsError

FITTED = rows(500, seed=1)
KINDS = ("moments", "exact", "gradual", "validated", "log moments")


@pytest.fixture(scope="module")
def model():
    made = {}

    def fitted(kind):
        if kind not in made:
            scale, method = ("log", kind[4:]) if kind.startswith("log ") else ("linear", kind)
            table, roles = FITTED, ROLES
            if method == "validated":
                truth = FITTED["loss"].where(FITTED.index < 60)
                table = FITTED.assign(known=truth * 1.1)
                roles = proxycal.Roles(ROLES.outcome, ROLES.proxies, ROLES.environment, truth="known")
            made[kind] = proxycal.ProxyCalibrator(
                roles, direction="under", method=method, scale=scale, log_proxies=["area"]
            ).fit(table)
        return made[kind]

    return fitted


def said(call, *arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ProxycalWarning)
        call(*arguments)
    return " ".join(str(one.message) for one in caught)


@pytest.mark.parametrize("kind", KINDS)
def test_every_method_refuses_other_units(model, kind):
    new = rows(200, seed=2)
    for column, factor in (("loss", 1e-3), ("area", 10.0), ("share", 100.0)):
        table = new.assign(**{column: factor * new[column]})
        for ask in (model(kind).calibrate, model(kind).totals):
            with pytest.raises(UnitsError, match=f"'{column}' is in other units"):
                ask(table)
        what = model(kind).drift(table).set_index("column")["what"]
        assert what[what == "unit"].index.tolist() == [column]


@pytest.mark.parametrize("kind", KINDS)
def test_every_method_answers_rows_of_the_same_law(model, kind):
    for m in (1, 5, 20, 200):
        new = rows(m, seed=10 + m)
        for ask in (model(kind).calibrate, model(kind).totals):
            text = said(ask, new)
            assert "moved" not in text
            assert "refit" not in text


def test_a_single_region_of_the_fitted_table_is_silent(model):
    for name in ("north", "south", "west"):
        part = FITTED[FITTED["region"] == name]
        text = said(model("moments").calibrate, part) + said(model("moments").totals, part)
        assert "moved" not in text
        assert "refit" not in text


def test_a_changed_ratio_asks_for_another_fit(model):
    new = rows(500, seed=3, ratio=0.3)
    assert "refit" in said(model("log moments").calibrate, new)
    assert "refit" in said(model("log moments").totals, new)
    row = model("log moments").drift(new).iloc[-1]
    assert row["what"] == "refit"
    assert row["shift"] < 0.0
    assert row["p"] < 1e-6


def test_frames_of_other_kinds_and_in_pieces(model):
    new = rows(300, seed=4).assign(area=lambda t: 10.0 * t["area"])
    drift = model("moments").drift(pl.from_pandas(new))
    assert isinstance(drift, pl.DataFrame)
    with pytest.raises(UnitsError):
        model("moments").calibrate(pl.from_pandas(new))
    dask = pytest.importorskip("dask.dataframe")
    partitioned = dask.from_pandas(new, npartitions=3)
    with pytest.raises(UnitsError):
        model("moments").totals(partitioned)
    assert isinstance(model("moments").drift(partitioned), pd.DataFrame)
    lazy = model("moments").drift(pl.from_pandas(new).lazy())
    assert lazy["what"].tolist() == drift["what"].to_list()


def test_a_run_folder_has_all_that_is_compared(model, tmp_path):
    model("moments").save(tmp_path / "run")
    again = proxycal.load(tmp_path / "run")
    new = rows(300, seed=5).assign(loss=lambda t: 1.3 * t["loss"])
    pd.testing.assert_frame_equal(again.drift(new), model("moments").drift(new))
    assert said(again.calibrate, FITTED) == said(model("moments").calibrate, FITTED)


def test_a_table_without_a_complete_row_has_nothing_to_compare():
    table = FITTED.copy()
    model = proxycal.ProxyCalibrator(ROLES, direction="under", method="moments", missing="drop").fit(table)
    new = rows(30, seed=6)
    new.loc[new.index > 0, "loss"] = None
    assert len(model.drift(new)) == 9
