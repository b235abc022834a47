"""ACS tables: names, sentinels, merged and split counties."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from proxycal.datasets.account import balance
from proxycal.datasets.counties import SOURCE, read_counties
from proxycal.errors import TableError


def write(tmp_path, **columns):
    path = tmp_path / "acs.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def test_the_bureaus_codes_become_names_and_rates(tmp_path):
    path = write(
        tmp_path, GEO_ID=["0500000US01001", "0500000US01003"], NAME=["Autauga", "Baldwin"],
        B01003_001E=[1000, 2000], B17001_001E=[900, 1800], B17001_002E=[90, 360],
        B19013_001E=[5e4, -666666666],
    )  # fmt: skip
    made = read_counties(path)
    assert made.table["fips"].tolist() == ["01001", "01003"]
    assert made.table["poverty_rate"].tolist() == [10.0, 20.0]
    assert np.isnan(made.table["median_household_income"].iloc[1])
    assert "NAME" in " ".join(map(str, made.account))
    assert balance(made.account, SOURCE) == 2


def test_merged_counties_add_counts_and_average_rates(tmp_path):
    path = write(tmp_path, fips=["02063", "02066"], population=[300, 100], median_age=[40.0, 32.0])
    made = read_counties(path)
    assert made.table.to_dict("records") == [{"fips": "02261", "population": 400.0, "median_age": 38.0}]
    assert balance(made.account, SOURCE) == 1


def test_connecticuts_regions_become_its_eight_counties(tmp_path):
    regions = [f"09{number}" for number in range(110, 191, 10)]
    path = write(tmp_path, fips=regions, population=[1000.0] * 9, median_age=np.arange(9.0))
    made = read_counties(path)
    table = made.table.set_index("fips")
    assert sorted(table.index) == [f"09{code:03d}" for code in range(1, 16, 2)]
    np.testing.assert_allclose(table["population"].sum(), 9000)
    # Capitol stands for Hartford and Tolland, in proportion to their people.
    np.testing.assert_allclose(
        table.loc["09003", "population"] / table.loc["09013", "population"], 899498 / 149788
    )
    assert table.loc["09013", "median_age"] == table.loc["09003", "median_age"] == 0.0
    # Fairfield: Greater Bridgeport (1) and Western (8)
    assert table.loc["09001", "median_age"] == 4.5
    assert balance(made.account, SOURCE) == 8


def test_a_year_makes_it_a_row_per_county_and_year(tmp_path):
    path = write(tmp_path, fips=["01001", "01001"], year=[2020, 2021], population=[1, 2])
    assert read_counties(path).table[["year", "population"]].to_numpy().tolist() == [[2020, 1], [2021, 2]]


def test_a_county_named_twice_is_refused(tmp_path):
    with pytest.raises(TableError, match="01001 twice"):
        read_counties(write(tmp_path, fips=["01001", "01001"], population=[1, 2]))


def test_tables_without_codes_or_numbers_are_refused(tmp_path):
    with pytest.raises(TableError, match="GEOID"):
        read_counties(write(tmp_path, place=["Autauga"], population=[1]))
    with pytest.raises(TableError, match="no numeric column"):
        read_counties(write(tmp_path, fips=["01001"], name=["Autauga"]))


def test_places_off_the_list_are_counted(tmp_path):
    made = read_counties(write(tmp_path, fips=["01001", "72001"], population=[1, 2]))
    assert len(made.table) == balance(made.account, SOURCE) == 1
    assert "72001" in " ".join(map(str, made.account))
