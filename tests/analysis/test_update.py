"""Rows that came later: the answer of a fit of all rows, a log, and a change of the bias that is said."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import proxycal as pc
from proxycal.errors import ProxycalWarning, TableError, UnavailableError, UnitsError
from proxycal.testing import SeveralReports


def world(n, seed, size=3.0):
    rng = np.random.default_rng(seed)
    e = rng.normal(size=n)
    truth = 0.6 * e + rng.normal(size=n)
    p = truth[:, None] + 0.6 * rng.normal(size=(n, 2))
    biased = rng.random(n) < 1.0 / (1.0 + np.exp(0.4 - 1.2 * e))
    region = rng.choice(["north", "south"], n)
    table = pd.DataFrame({"y": truth + size * biased, "p1": p[:, 0], "p2": p[:, 1], "e": e, "region": region})
    return table.set_axis([f"{seed}-{i}" for i in range(n)])


ROLES = pc.Roles("y", ["p1", "p2"], ["e", "region"])
MAY, JUNE = world(500, 1), world(250, 2)


def fitted(table):
    return pc.ProxyCalibrator(ROLES, direction="over", method="exact").fit(table)


@pytest.fixture(scope="module")
def both():
    return fitted(pd.concat([MAY, JUNE]))


def silent(model, *rows, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ProxycalWarning)
        return model.update(*rows, **more)


def test_the_answer_is_that_of_all_rows(both):
    model = silent(fitted(MAY), pl.from_pandas(JUNE), when="June")
    assert abs(model.alpha_ - both.alpha_) < 0.02 * both.alpha_se_
    assert model.verdict_ == both.verdict_
    rows = world(50, 9)
    np.testing.assert_allclose(
        model.calibrate(rows)["y_cal"], both.calibrate(rows)["y_cal"], atol=0.02 * both.alpha_se_
    )
    log = model.updates_
    assert log["when"].tolist() == ["first fit", "June"]
    assert log["n"].tolist() == [500, 750]
    assert log["changed"].tolist() == [False, False]
    assert 0.004 < log["p_bias"].iloc[1] < 1.0


def test_rows_of_the_fit_are_not_counted_twice(both):
    model = silent(fitted(MAY), pd.concat([MAY.tail(100), JUNE]))
    assert model.updates_["rows"].tolist() == [500, 250]
    assert abs(model.alpha_ - both.alpha_) < 0.02 * both.alpha_se_
    with pytest.raises(TableError, match="rows of the fit already"):
        model.update(JUNE)


def test_the_table_that_was_fitted_may_be_given(both):
    model = fitted(MAY)
    with pytest.raises(TableError, match="has seen 500 rows and old has 400"):
        model.update(JUNE, old=MAY.head(400))
    silent(model, JUNE, old=MAY)
    assert model.alpha_ == both.alpha_


def test_a_bias_that_changed_is_said_with_its_size(tmp_path):
    model = fitted(MAY)
    with pytest.warns(ProxycalWarning, match="One table in 100 is flagged where nothing changed"):
        model.update(world(300, 3, size=1.2), when="July")
    line = model.updates_.iloc[1]
    assert line.changed
    assert line.p_bias < 1e-4
    assert line["size"] == pytest.approx(0.4, abs=0.2)
    model.save(tmp_path / "run")
    pd.testing.assert_frame_equal(pc.load(tmp_path / "run").updates_, model.updates_)


def test_new_levels_are_learned_and_other_units_refused():
    model = fitted(MAY)
    before = model.result_
    with pytest.raises(UnitsError, match="'p1' is in other units"):
        model.update(JUNE.assign(p1=1000.0 * JUNE["p1"]))
    assert model.result_ is before
    east = JUNE.assign(region=np.where(np.arange(250) < 100, "east", JUNE["region"]))
    silent(model, east)
    assert model.result_.encoder.environment[1].level_names == ("east", "north", "south")


def test_without_two_states_the_reports_are_compared():
    rng = np.random.default_rng(5)
    truth = MAY["y"].where(rng.random(500) < 0.2)
    roles = pc.Roles("y", ["p1", "p2"], ["e"], truth="known")
    model = pc.ProxyCalibrator(roles, direction="over").fit(MAY.assign(known=truth))
    with pytest.warns(ProxycalWarning, match="reports lie"):
        model.update(world(300, 3, size=0.0))  # without truths
    line = model.updates_.iloc[1]
    assert line.changed
    assert np.isnan(line.p_bias)
    assert line.p_report < 0.004


def test_several_reports_of_one_truth_are_kept_with_their_gaps():
    drawn = SeveralReports(gaps=0.2).draw(1, 500)
    model = pc.ProxyCalibrator(drawn.roles, direction="under").fit(drawn.table[:400])
    model.update(drawn.table[400:])
    both = pc.ProxyCalibrator(drawn.roles, direction="under").fit(drawn.table)
    assert model.updates_["rows"].tolist() == [400, 100]
    assert abs(model.alpha_ - both.alpha_) < 0.02 * both.alpha_se_
    with pytest.raises(UnavailableError, match="for one report"):
        model.calibrate(drawn.table, transport=True)
