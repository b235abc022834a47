"""The simulated nation: its files read back as they were drawn, and the join loses no row unnamed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import proxycal as pc
from proxycal.datasets import load_sheldus, load_storm_events
from proxycal.datasets.account import balance
from proxycal.datasets.disasters import JOINED, study
from proxycal.datasets.losses import HAZARDS, KEYS
from proxycal.datasets.sheldus import SOURCE, read_sheldus
from proxycal.errors import SettingsError, TableError


@pytest.fixture(scope="module")
def nation(tmp_path_factory):
    return pc.simulate_disasters(tmp_path_factory.mktemp("nation"), n_counties=500, years=[2022, 2023])


def with_truth(table, nation):
    return table.merge(nation.truth, on=list(KEYS), how="left", validate="one_to_one")


def test_sheldus_comes_back_as_reported(nation):
    made = load_sheldus(nation.sheldus, nation.transitions, nation.counties)
    both = with_truth(made.table, nation)
    np.testing.assert_allclose(both["loss"], both["reported_loss"], rtol=1e-3, atol=0.02)
    assert len(both) == (nation.truth["reported_loss"] > 0).sum()
    assert set(both["hazard"]) == set(HAZARDS)


def test_storm_events_come_back_as_reported(nation):
    made = load_storm_events(nation.storm_events, nation.transitions, nation.counties, zones=nation.zones)
    both = with_truth(made.table, nation)
    # The files give two decimals of thousands, millions and billions, for each of up to three events.
    np.testing.assert_allclose(both["loss"], both["reported_loss"], rtol=0.01, atol=40)


def test_without_a_zone_table_the_zone_hazards_are_missing_and_counted(nation):
    made = load_storm_events(nation.storm_events, nation.transitions, nation.counties)
    assert set(made.table["hazard"]) == {"Flooding", "Tornado"}
    assert "no zone table was given" in made.about


def test_the_account_of_the_join_adds_up(nation):
    made = study(read_sheldus(nation.sheldus), nation.transitions, nation.counties)
    assert balance(made.account, JOINED) == len(made.dataset.table)
    assert balance(made.account, SOURCE) == len(nation.truth)
    zero = (nation.truth["reported_loss"] == 0).sum()
    assert any(entry.rows == zero and "reported loss is zero" in entry.what for entry in made.account)


def test_rows_without_land_cover_or_covariates_are_named(nation, tmp_path):
    land = pd.read_csv(nation.transitions, dtype={"fips": str})
    acs = pd.read_csv(nation.counties)
    gone = land["fips"].iloc[0]
    land[land["fips"] != gone].to_csv(tmp_path / "land.csv", index=False)
    hole = acs["GEO_ID"].str[-5:].isin(land["fips"].unique()[5:6])
    acs.loc[hole, "B01002_001E"] = -666666666
    acs[acs["GEO_ID"].str[-5:] != land["fips"].unique()[8]].to_csv(tmp_path / "acs.csv", index=False)
    made = study(read_sheldus(nation.sheldus), tmp_path / "land.csv", tmp_path / "acs.csv")
    assert balance(made.account, JOINED) == len(made.dataset.table)
    text = made.dataset.about
    assert "no land-cover change for it" in text
    assert "a covariate is missing (median_age" in text
    assert f"not in the county covariates ({land['fips'].unique()[8]}" in text


def test_bias_and_proxies_are_as_drawn(nation):
    made = load_sheldus(nation.sheldus, nation.transitions, nation.counties)
    both = with_truth(made.table, nation)
    np.testing.assert_allclose(both["shift"], 1.8 * both["a"])
    np.testing.assert_allclose(np.log(both["true_loss"] / both["reported_loss"]), both["shift"], atol=1e-9)
    # Proxies see the damage, and given it nothing of who is biased.
    X = np.column_stack([np.ones(len(both)), np.log(both["true_loss"]), both["log_population"]])
    for proxy in made.roles.proxies[1:]:
        assert np.corrcoef(both[proxy], np.log(both["true_loss"]))[0, 1] > 0.6
        left = both[proxy] - X @ np.linalg.lstsq(X, both[proxy], rcond=None)[0]
        assert abs(np.corrcoef(left, both["a"])[0, 1]) < 0.1


def test_collinear_covariates_are_dropped_and_named(nation):
    made = load_sheldus(nation.sheldus, nation.transitions, nation.counties)
    assert "log_poverty_base" not in made.roles.environment
    assert "log_population" in made.roles.environment
    assert "log_poverty_base" in made.about


def test_the_same_seed_gives_the_same_bytes(nation, tmp_path):
    again = pc.simulate_disasters(tmp_path, n_counties=500, years=[2022, 2023])
    assert again.sheldus.read_bytes() == nation.sheldus.read_bytes()
    pd.testing.assert_frame_equal(again.truth, nation.truth)


def test_a_size_for_each_hazard(tmp_path):
    sizes = dict(zip(HAZARDS, (2.0, 1.5, 1.0, 0.0), strict=True))
    truth = pc.simulate_disasters(tmp_path, n_counties=60, years=[2023], alpha=sizes).truth
    biased = truth[truth["a"] == 1]
    np.testing.assert_allclose(biased["shift"], biased["hazard"].map(sizes))


@pytest.mark.parametrize(
    "wrong", [{"n_counties": 1}, {"years": [1999]}, {"alpha": -1.0}, {"alpha": {"Flooding": 1.0}}]
)
def test_arguments_that_cannot_be_are_refused(tmp_path, wrong):
    with pytest.raises(SettingsError):
        pc.simulate_disasters(tmp_path, **wrong)


def test_files_of_different_years_leave_nothing_and_say_why(nation, tmp_path):
    land = pd.read_csv(nation.transitions, dtype={"fips": str}).assign(year=2016)
    land.to_csv(tmp_path / "land.csv", index=False)
    with pytest.raises(TableError, match="same years"):
        load_sheldus(nation.sheldus, tmp_path / "land.csv", nation.counties)
