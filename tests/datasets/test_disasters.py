"""The join of losses, land cover and covariates loses no row unnamed."""

from __future__ import annotations

import pandas as pd
import pytest

from proxycal.datasets.account import balance
from proxycal.datasets.disasters import JOINED, load_sheldus, study
from proxycal.datasets.sheldus import SOURCE, read_sheldus
from proxycal.errors import TableError


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


def test_collinear_covariates_are_dropped_and_named(nation):
    made = load_sheldus(nation.sheldus, nation.transitions, nation.counties)
    assert "log_poverty_base" not in made.roles.environment
    assert "log_population" in made.roles.environment
    assert "log_poverty_base" in made.about


def test_files_of_different_years_leave_nothing_and_say_why(nation, tmp_path):
    land = pd.read_csv(nation.transitions, dtype={"fips": str}).assign(year=2016)
    land.to_csv(tmp_path / "land.csv", index=False)
    with pytest.raises(TableError, match="same years"):
        load_sheldus(nation.sheldus, tmp_path / "land.csv", nation.counties)
