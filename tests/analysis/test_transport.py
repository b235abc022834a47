"""Rows drawn from elsewhere: as sure as the fit lets them be, and no surer."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import proxycal as pc
from proxycal.errors import AnswerError, ProxycalWarning, TableError, UnavailableError, UnitsError


def world(n, seed, size=3.0, by=0.0, log=False):
    rng = np.random.default_rng(seed)
    e = rng.normal(size=n) + by
    truth = 0.6 * e + rng.normal(size=n)
    p = truth[:, None] + 0.4 * rng.normal(size=(n, 3))
    biased = rng.random(n) < 1.0 / (1.0 + np.exp(0.4 - 1.2 * e))
    table = pd.DataFrame({"y": truth + size * biased, "p1": p[:, 0], "p2": p[:, 1], "p3": p[:, 2], "e": e})
    if log:
        table["y"], truth = np.exp(table["y"]), np.exp(truth)
    return table.assign(region=rng.choice(["north", "south"], n), sex="female", truth=truth)


ROLES = pc.Roles("y", ["p1", "p2", "p3"], ["e", "region", "sex"])


@pytest.fixture(scope="module")
def model():
    return pc.ProxyCalibrator(ROLES, direction="over", method="exact").fit(world(800, 1))


@pytest.fixture(scope="module")
def logs():
    table = world(800, 1, log=True)
    table.loc[:30, "y"] = 0.0
    return pc.ProxyCalibrator(ROLES, direction="over", method="exact", scale="log").fit(table)


def answered(model, table):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ProxycalWarning)
        made = model.calibrate(table, transport=True)
    return made, " ".join(str(one.message) for one in caught)


def width(made):
    return float((made["y_cal_high"] - made["y_cal_low"]).mean())


def coverage(made, table):
    return float(((made["y_cal_low"] <= table["truth"]) & (table["truth"] <= made["y_cal_high"])).mean())


def test_rows_of_the_same_law_get_nearly_the_same(model):
    table = world(1500, 2)
    plain = model.calibrate(table)
    made, said = answered(model, table)
    assert said == ""
    pd.testing.assert_series_equal(made["y_cal"], plain["y_cal"])
    assert width(plain) < width(made) < width(plain) + 0.4  # in units of the truth's sd


@pytest.mark.filterwarnings("ignore::proxycal.errors.ProxycalWarning")
def test_intervals_widen_with_the_shift_of_columns(model):
    wide = [width(answered(model, world(1500, 3, by=by))[0]) for by in (0.0, 0.7, 1.2)]
    plain = [width(model.calibrate(world(1500, 3, by=by))) for by in (0.0, 0.7, 1.2)]
    added = np.subtract(wide, plain)
    assert added[0] < added[1] < added[2]


def test_intervals_widen_with_the_shift_of_the_report(model):
    table = world(1500, 4, size=4.0)
    with pytest.warns(ProxycalWarning):
        plain = model.calibrate(table)
    made, said = answered(model, table)
    assert "the truth or the bias is another" in said
    assert coverage(plain, table) < 0.9
    assert coverage(made, table) > 0.92
    assert made.attrs["transport"]["shift"] == pytest.approx(0.45, abs=0.15)


def test_what_no_fitted_row_is_like_is_refused(model):
    table = world(200, 5)
    some = table.assign(e=np.where(np.arange(200) < 3, 40.0, table["e"]))
    made, said = answered(model, some)
    assert "3 rows of 200 lie where no fitted row is" in said
    assert made["y_cal"].isna().tolist() == [True] * 3 + [False] * 197
    far = table.assign(e=np.where(table.index < 60, table["e"] + 8.0, table["e"]))
    with pytest.raises(AnswerError, match=r"60 rows of 200 lie where no fitted row is .*'e' is beyond"):
        model.calibrate(far, transport=True)
    with pytest.raises(AnswerError, match="levels that the fit has never seen"):
        model.calibrate(table.assign(region="west"), transport=True)
    with pytest.raises(UnitsError, match="'p1' is in other units"):
        model.calibrate(table.assign(p1=1000.0 * table["p1"]), transport=True)
    with pytest.raises(TableError, match="needs the report 'y'"):
        model.calibrate(table[["p1", "e"]], transport=True)


def test_a_column_that_is_absent_is_drawn(model):
    table = world(600, 6)
    made, said = answered(model, table.drop(columns=["p1", "p2", "region"]))
    assert "this table has no columns 'p1', 'p2', 'region'" in said
    off = made["y_cal"] - table["truth"]
    assert (off**2).mean() < 0.5 * ((table["y"] - table["truth"]) ** 2).mean()
    assert coverage(made, table) > 0.93
    assert width(made) > width(model.calibrate(table))


def test_a_column_in_which_all_fitted_rows_were_alike_is_told(model):
    _, said = answered(model, world(100, 7).assign(sex="male"))
    assert "all fitted rows have 'sex' = female, and these rows have 'male'" in said


def test_on_the_log_scale_shifts_are_factors(logs):
    table = world(900, 8, size=3.5, log=True)
    table.loc[:20, "y"] = 0.0
    with pytest.warns(ProxycalWarning):
        plain = logs.calibrate(table)
    made, said = answered(logs, table)
    assert "times where those of the fitted rows put them" in said
    assert (made.loc[:20, ["y_cal", "y_cal_low", "y_cal_high"]] == 0.0).all(axis=None)
    rest = slice(21, None)
    assert (made["y_cal_low"] <= plain["y_cal_low"])[rest].all()
    assert (made["y_cal_low"] > 0.0)[rest].all()
    assert (made["y_cal_high"] >= plain["y_cal_high"])[rest].all()


def test_truths_stay_and_other_frames_are_answered():
    table = world(400, 9).assign(known=np.nan)
    roles = pc.Roles("y", ["p1", "p2", "p3"], ["e"], truth="known")
    fitted = pc.ProxyCalibrator(roles, direction="over", method="exact").fit(
        table.assign(known=table["truth"].where(table.index < 20))
    )
    new = world(60, 10).assign(known=lambda t: t["truth"].where(t.index < 5))
    made, _ = answered(fitted, pl.from_pandas(new))
    assert isinstance(made, pl.DataFrame)
    np.testing.assert_array_equal(made["y_cal_low"].to_numpy()[:5], new["truth"][:5])
    assert (made["y_cal_high"] > made["y_cal_low"]).to_numpy()[5:].all()


def test_counts_are_not_below_zero():
    rng = np.random.default_rng(0)
    z, e = rng.normal(size=(2, 900))
    counts = rng.poisson(np.exp(1.0 + 0.7 * z))
    biased = rng.random(900) < 1.0 / (1.0 + np.exp(0.5 - 1.5 * e))
    table = pd.DataFrame({"y": np.where(biased, rng.binomial(counts, 0.3), counts), "z": z, "e": e})
    table["z2"] = z + 0.2 * rng.normal(size=900)
    fitted = pc.ProxyCalibrator(pc.Roles("y", ["z", "z2"], ["e"]), direction="under", family="counts")
    made, _ = answered(fitted.fit(table[:600]), table[600:])
    assert fitted.verdict_ == "bias found"
    assert made["y_cal_low"].min() == 0.0
    assert (made["y_cal_high"] >= made["y_cal"]).all()


def test_yes_and_no_have_no_interval_to_widen():
    table = world(400, 11)
    table["y"] = (table["y"] > 1.0).astype(float)
    fitted = pc.ProxyCalibrator(ROLES, direction="over", method="moments").fit(table)
    if fitted.result_.settings.method != "binary":
        fitted = pc.ProxyCalibrator(ROLES, direction="over", family="binary").fit(table)
    with pytest.raises(UnavailableError, match="for numbers"):
        fitted.calibrate(table, transport=True)
