"""The plan of an audit: probabilities that are those of the draw, more rows where the fit is unsure."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import proxycal as pc
from proxycal.errors import ProxycalWarning, SettingsError, TableError
from proxycal.questions.audit_plan import allocate, choose_rows, cut_strata


def test_every_stratum_keeps_its_floor_and_the_sum_is_n():
    sizes, sigma = np.array([500, 300, 200]), np.array([1e-6, 1.0, 5.0])
    counts = allocate(sizes, sigma, 100)
    assert counts.sum() == 100
    assert counts[0] >= 0.4 * 100 * 0.5 - 1
    assert counts[2] > counts[1]


def test_no_stratum_gives_more_rows_than_it_has():
    counts = allocate(np.array([1000, 10]), np.array([0.1, 100.0]), 60)
    assert counts.tolist() == [50, 10]


def test_strata_rise_with_the_spread_and_equal_spreads_stay_together():
    rng = np.random.default_rng(0)
    spread = np.round(rng.gamma(1.0, 1.0, 2000), 1) + 0.1
    stratum = cut_strata(spread, 100)
    assert len(np.unique(stratum)) == 10
    # A few rows are not spread over strata of two.
    assert len(np.unique(cut_strata(spread, 20))) == 4
    assert len(np.unique(cut_strata(spread, 4))) == 2
    for h in range(9):
        assert spread[stratum == h].max() < spread[stratum == h + 1].min()


def test_rows_are_drawn_with_the_probabilities_said():
    spread = np.r_[np.full(80, 0.2), np.full(20, 3.0)]
    drawn = np.zeros(100)
    said = np.zeros(100)
    for seed in range(400):
        plan = choose_rows(spread, 20, seed)
        drawn[plan.rows] += 1 / 400
        said[plan.rows] = plan.probability
    assert drawn == pytest.approx(said, abs=0.12)
    assert drawn.sum() == pytest.approx(20.0)


def test_the_promise_is_kept_where_the_fit_is_right():
    """Standard error over 600 audits, planned and random, of a population whose spread is as expected."""
    rng = np.random.default_rng(1)
    spread = np.r_[np.full(900, 0.2), np.full(100, 3.0)]
    values = spread * rng.normal(size=1000)
    plan = choose_rows(spread, 50, 0)
    planned, chance = [], []
    for seed in range(600):
        own = choose_rows(spread, 50, seed)
        planned.append(np.sum(values[own.rows] / own.probability) / 1000)
        chance.append(values[rng.choice(1000, 50, replace=False)].mean())
    assert np.std(planned) / np.std(chance) == pytest.approx(plan.ratio, abs=0.1)
    assert np.mean(planned) == pytest.approx(values.mean(), abs=4 * np.std(planned) / 600**0.5)


def test_a_fit_that_cannot_tell_chooses_at_random_and_says_so():
    plan = choose_rows(np.ones(200), 20, 0)
    assert plan.random
    assert plan.probability == pytest.approx(0.1)
    assert "chosen at random" in plan.reading


def test_through_the_model(drawn):
    world, model = drawn("gaussian", 400, 5.0, 1)
    table = world.table()
    plan = model.plan_audit(table, n=20)
    assert len(plan) == 20
    assert (1.0 / plan["inclusion_probability"]).sum() == pytest.approx(400.0)
    assert (table.loc[plan.index, "y"] == plan["y"]).all()
    assert "smaller than with 20 rows chosen at random" in plan.attrs["reading"]
    with pytest.raises(SettingsError, match="more than the 400 rows that are not validated yet"):
        model.plan_audit(table, n=401)
    with pytest.raises(SettingsError, match="ask for 2 or more"):
        model.plan_audit(table, n=1)


def test_a_large_table_is_answered_in_pieces(drawn, monkeypatch):
    world, model = drawn("gaussian", 400, 5.0, 1)
    whole = model.plan_audit(world.table(), n=20)
    monkeypatch.setattr("proxycal.questions.audit_plan.BLOCK", 64)
    pieces = model.plan_audit(world.table(), n=20)
    pd.testing.assert_frame_equal(whole, pieces)


def test_without_a_finding_the_rows_are_random_and_validated_rows_are_left_out(drawn):
    world, _ = drawn("gaussian", 400, 0.0, 1)
    table = world.table()
    table["truth"] = np.where(np.arange(400) < 10, world.y_true, np.nan)
    roles = pc.Roles("y", world.roles.proxies, world.roles.environment, truth="truth")
    model = pc.ProxyCalibrator(roles, direction="over").fit(table)
    assert model.verdict_ != "bias found"
    with pytest.warns(ProxycalWarning, match="chosen at random"):
        plan = model.plan_audit(table, n=30)
    assert plan["truth"].isna().all()
    assert plan.index.min() >= 10
    with pytest.raises(TableError, match="all 400 rows are validated already"):
        model.plan_audit(table.assign(truth=world.y_true), n=5)


def test_where_no_row_is_in_doubt_the_plan_says_so():
    """Every sum of spreads is 0, and strata of equal sums were 0 / 0."""
    plan = choose_rows(np.zeros(200), 20, seed=0)
    assert plan.random
    assert len(set(plan.rows)) == 20
    assert plan.probability == pytest.approx(np.full(20, 0.1))
    assert "no row is in doubt" in plan.reading
