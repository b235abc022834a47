"""Storm Events details files: money as text, zones, two-digit years, and every event accounted for."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest

from proxycal.datasets import load_storm_events
from proxycal.datasets.account import balance
from proxycal.datasets.storm_events import SOURCE, dollars, read_storm_events
from proxycal.errors import StoreError, TableError

HEADER = (
    "STATE_FIPS,CZ_TYPE,CZ_FIPS,EVENT_TYPE,BEGIN_DATE_TIME,END_DATE_TIME,INJURIES_DIRECT,INJURIES_INDIRECT,"
    "DEATHS_DIRECT,DEATHS_INDIRECT,DAMAGE_PROPERTY\n"
)


def event(state=1, kind="C", place=1, what="Flash Flood", begin="28-APR-23 15:30:00", damage="10.00K"):
    return f"{state},{kind},{place},{what},{begin},{begin},1,1,0,0,{damage}\n"


@pytest.fixture
def write(tmp_path):
    def made(*events, year=2023, header=HEADER, gz=True, encoding="utf-8"):
        path = tmp_path / f"StormEvents_details-ftp_v1.0_d{year}_c20250401.csv{'.gz' if gz else ''}"
        content = (header + "".join(events)).encode(encoding)
        path.write_bytes(gzip.compress(content) if gz else content)
        return path

    return made


@pytest.fixture
def zones(tmp_path):
    path = tmp_path / "zones.csv"
    path.write_text("STATE_FIPS,CZ_FIPS,FIPS\n6,40,06037\n6,40,06059\n06,041,06071\n")
    return path


@pytest.mark.parametrize(
    ("text", "value"),
    [("10.00K", 1e4), ("1.5M", 1.5e6), ("2B", 2e9), (".5k", 500), ("250", 250), ("0.00K", 0), ("3H", 300)],
)
def test_money_is_read(text, value):
    assert dollars(pd.Series([text])).tolist() == [value]


@pytest.mark.parametrize("text", ["", "K", "10Q", "ten", "-5K", "1.2.3K"])
def test_money_that_is_none_is_missing(text):
    assert dollars(pd.Series([text])).isna().all()


def test_events_of_a_county_and_year_are_summed(write):
    write(event(), event(damage="1.5M"), event(what="Tornado", damage="2.00K"))
    write(event(begin="01-MAR-22 00:00:00", damage="1.00K"), year=2022, gz=False)
    found = read_storm_events(
        write(event(), event(damage="1.5M"), event(what="Tornado", damage="2.00K")).parent
    )
    table = found.table.set_index(["hazard", "year"])
    np.testing.assert_allclose(table.loc[("Flooding", 2023), "loss"], 1_510_000)
    np.testing.assert_allclose(table.loc[("Tornado", 2023), "loss"], 2000)
    np.testing.assert_allclose(table.loc[("Flooding", 2022), "loss"], 1000 * 304.702 / 292.655)
    assert table.loc[("Flooding", 2023), "records"] == 2
    assert table.loc[("Flooding", 2023), "injuries"] == 4
    assert balance(found.account, SOURCE) == len(table)


def test_two_digit_years_before_1950_do_not_exist(write):
    found = read_storm_events(
        write(event(what="Tornado", begin="28-APR-50 14:45:00", damage="250K"), year=1950), base_year=1950
    )
    assert found.table["year"].tolist() == [1950]
    assert found.table["loss"].tolist() == [250_000]


def test_zone_events_without_a_table_are_counted_as_left_out(write):
    found = read_storm_events(write(event(), event(6, "Z", 40, "Wildfire", damage="3M")))
    assert found.table["hazard"].tolist() == ["Flooding"]
    assert "1 rows left out: filed by forecast zone and no zone table was given (Wildfire)" in " ".join(
        map(str, found.account)
    )
    assert balance(found.account, SOURCE) == 1


def test_zone_events_go_to_the_counties_of_the_zone(write, zones):
    path = write(
        event(6, "Z", 40, "Wildfire", damage="3M"), event(6, "Z", 41, "Wildfire", damage="1M"),
        event(6, "Z", 99, "Wildfire", damage="7M"),
    )  # fmt: skip
    found = read_storm_events(path, zones)
    assert found.table.set_index("fips")["loss"].to_dict() == {"06037": 1.5e6, "06059": 1.5e6, "06071": 1e6}
    assert found.table["records"].sum() == 2
    assert "zone not in the zone table (06099)" in " ".join(map(str, found.account))
    assert balance(found.account, SOURCE) == 3


def test_shares_of_a_zone_are_used(write, zones):
    zones.write_text("STATE_FIPS,CZ_FIPS,FIPS,SHARE\n6,40,06037,3\n6,40,06059,1\n")
    found = read_storm_events(write(event(6, "Z", 40, "Wildfire", damage="4M")), zones)
    assert found.table["loss"].tolist() == [3e6, 1e6]


def test_every_event_left_out_is_counted_and_named(write):
    path = write(
        event(), event(what="Hail"), event(damage=""), event(damage="10Q"), event(kind="M"), event(place=2),
        event(begin="28-APR-15 15:30:00"),
    )  # fmt: skip
    found = read_storm_events(path, years=range(2016, 2024))
    assert len(found.table) == balance(found.account, SOURCE) == 1
    text = " ".join(map(str, found.account))
    for words in ("Hail", "is blank", "10Q", "marine", "01002", "2015"):
        assert words in text


@pytest.mark.parametrize("column", ["DAMAGE_PROPERTY", "CZ_TYPE", "EVENT_TYPE", "BEGIN_DATE_TIME"])
def test_a_missing_column_is_named(write, column):
    with pytest.raises(TableError, match=column):
        read_storm_events(write(event(), header=HEADER.replace(column, "OTHER")))


def test_dates_of_another_form_are_refused(write):
    with pytest.raises(TableError, match="28-APR-16"):
        read_storm_events(write(event(begin="2023-04-28 15:30")))


def test_letters_of_another_encoding_are_read(write):
    path = write(event(), event(what="Flash Flood é"), encoding="latin-1")
    assert len(read_storm_events(path).table) == 1


def test_a_cut_file_is_refused(write):
    path = write(*[event()] * 50)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(StoreError, match="gzip"):
        read_storm_events(path)


def test_zone_tables_that_cannot_be_used_are_refused(write, zones):
    path = write(event(6, "Z", 40, "Wildfire"))
    zones.write_text("STATE_FIPS,ZONE,FIPS\n6,40,06037\n")
    with pytest.raises(TableError, match="CZ_FIPS"):
        read_storm_events(path, zones)
    zones.write_text("STATE_FIPS,CZ_FIPS,FIPS\n6,40,Los Angeles\n")
    with pytest.raises(TableError, match="first row 2"):
        read_storm_events(path, zones)
    zones.write_text("STATE_FIPS,CZ_FIPS,FIPS,SHARE\n6,40,06037,0\n")
    with pytest.raises(TableError, match="SHARE"):
        read_storm_events(path, zones)


def test_the_loader_gives_a_data_set(write):
    made = load_storm_events(write(event(), event(place=3), event(place=5, damage="0.00K")))
    assert len(made.table) == 2
    assert "the reported loss is zero" in made.about
