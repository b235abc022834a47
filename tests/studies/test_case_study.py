"""The disaster study on a simulated nation: what it finds beside the truth, and what it leaves alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from proxycal.datasets.account import balance
from proxycal.datasets.disasters import JOINED, Study, study
from proxycal.datasets.losses import HAZARDS
from proxycal.datasets.nation import simulate_disasters
from proxycal.datasets.sheldus import read_sheldus
from proxycal.errors import SettingsError
from proxycal.studies.case_study import POOLED, analyse
from proxycal.studies.case_study_files import Inputs, perform


@pytest.fixture(scope="module")
def nation(tmp_path_factory):
    return simulate_disasters(tmp_path_factory.mktemp("nation"), n_counties=400)


@pytest.fixture(scope="module")
def joined(nation):
    return study(read_sheldus(nation.sheldus), nation.transitions, nation.counties)


@pytest.fixture(scope="module")
def found(joined, nation):
    return analyse(joined, nation.truth)


def test_the_bias_and_the_national_loss_are_found(found):
    check = found.check.set_index("fit")
    assert abs(check.loc[POOLED, "alpha_error"]) < 0.08
    assert abs(check.loc["Flooding", "alpha_error"]) < 0.08
    assert check.loc[POOLED, "who_right"] > 0.93
    assert check.loc[POOLED, "rank_correlation"] > 0.7
    assert check.loc[POOLED, "reported_error"] < -0.2
    assert abs(check.loc[POOLED, "calibrated_error"]) < 0.08


def test_totals_of_hazards_are_the_sums_of_the_county_table(found):
    totals = found.totals.set_index("hazard")
    for name in ("reported", "calibrated"):
        by_hazard = found.counties.groupby("hazard")[name].sum()
        np.testing.assert_allclose(totals.loc[list(HAZARDS), name], by_hazard[list(HAZARDS)])
    # Where no bias was found there is no interval.
    told = totals.dropna(subset=["low", "high"])
    assert len(told)
    assert (told["low"] <= told["calibrated"]).all()
    assert (told["calibrated"] <= told["high"]).all()


def test_all_hazards_are_the_answer_of_their_common_fit(found, nation):
    """Its interval is there although a hazard has no finding, and holds the truth."""
    overall = found.totals.set_index("hazard").loc[POOLED]
    np.testing.assert_allclose(overall["reported"], found.counties["reported"].sum())
    both = found.counties.merge(nation.truth, on=["fips", "hazard", "year"])
    assert overall["low"] <= both["true_loss"].sum() <= overall["high"]
    assert overall["calibrated"] != found.counties["calibrated"].sum()


def test_the_county_table_has_every_row_of_the_join_and_its_intervals(found, joined):
    table = found.counties
    assert len(table) == len(joined.dataset.table) == balance(joined.account, JOINED)
    assert not table.duplicated(["fips", "hazard", "year"]).any()
    told = table.dropna(subset=["calibrated_low", "calibrated_high"])
    assert len(told)
    assert (told["calibrated_low"] <= told["calibrated"]).all()
    assert (told["calibrated"] <= told["calibrated_high"]).all()
    np.testing.assert_allclose(table["tau_abs"], table["tau"].abs())
    # Rows stay with their county through the fits: the reported loss is the join's.
    both = table.merge(joined.dataset.table, on=["fips", "hazard", "year"], validate="one_to_one")
    np.testing.assert_array_equal(both["reported"], both["loss"])
    assert (both["county_x"] == both["county_y"]).all()


def test_under_reported_counties_are_below_their_like(found, nation):
    both = found.counties.merge(nation.truth, on=["fips", "hazard", "year"])
    assert both.loc[both["a"] == 1, "tau"].mean() < -1.4
    assert abs(both.loc[both["a"] == 0, "tau"].mean()) < 0.3


def test_bars_are_means_with_intervals_around_them(found):
    bars = found.bars.set_index("hazard")
    means = found.counties.groupby("hazard")["tau_abs"].mean()
    np.testing.assert_allclose(bars["tau_abs"], means[bars.index])
    assert (bars["low"] < bars["tau_abs"]).all()
    assert (bars["high"] > bars["tau_abs"]).all()


def test_the_gradual_method_stands_beside_and_its_means_hold_the_truth(found):
    graded = found.graded.set_index("fit")
    assert list(graded.index) == [POOLED, *HAZARDS]
    assert set(graded["exact"]) == set(found.fits["verdict"])
    answered = graded.dropna(subset=["mean_bias"])
    assert len(answered) >= 3
    assert (
        (answered["low"] <= answered["mean_bias_true"]) & (answered["mean_bias_true"] <= answered["high"])
    ).all()
    assert answered["notes"].str.contains("only through content").all()
    # Refused, a total stays as it was reported.
    assert (graded.loc[graded["mean_bias"].isna(), "change_pct"] == 0.0).all()


def test_no_bias_leaves_every_loss_as_reported(joined, nation):
    # The truth of the same nation, reported faithfully.
    table = joined.dataset.table
    table = table[table["hazard"] == "Tornado"].merge(nation.truth, on=["fips", "hazard", "year"])
    honest = table.assign(loss=table["true_loss"], log_loss=np.log(table["true_loss"]))
    found = analyse(Study(replace(joined.dataset, table=honest), joined.account))
    assert set(found.counties["verdict"]) <= {"no bias found", "not identified"}
    np.testing.assert_array_equal(found.counties["calibrated"], found.counties["reported"])
    assert found.check is None


def test_too_few_rows_are_left_alone_and_said(joined):
    few = joined.dataset.table.groupby("hazard").head(40).reset_index(drop=True)
    found = analyse(Study(replace(joined.dataset, table=few), joined.account))
    assert (found.fits["verdict"] == "not identified").all()
    assert found.fits["notes"].str.contains("too few").all()
    assert found.graded.empty
    np.testing.assert_array_equal(found.counties["calibrated"], found.counties["reported"])


def test_a_year_without_rows_is_refused_before_the_fits(nation, tmp_path):
    inputs = Inputs(nation.sheldus, None, None, nation.transitions, nation.counties)
    with pytest.raises(SettingsError, match="2031"):
        perform(inputs, tmp_path, year=2031)
