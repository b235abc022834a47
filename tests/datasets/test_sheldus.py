"""SHELDUS exports of both kinds, whole and broken; every row is accounted for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from proxycal.datasets import load_sheldus
from proxycal.datasets.account import balance
from proxycal.datasets.cpi import price_ratio
from proxycal.datasets.sheldus import SOURCE, read_sheldus
from proxycal.errors import StoreError, TableError

NEW = (
    "StateName,CountyName,County_FIPS,Year,Month,Hazard,CropDmg,CropDmg(ADJ 2024),CropDmgPerCapita,"
    "CropDmgPerCapita(ADJ 2024),PropertyDmg,PropertyDmg(ADJ 2024),PropertyDmgPerCapita,"
    "PropertyDmgPerCapita(ADJ 2024),Injuries,InjuriesPerCapita,Injuries_Duration,Fatalities,"
    "FatalitiesPerCapita,Fatalities_Duration,Duration_Days,Records\n"
)


def row(fips="'45001'", county="Abbeville", year=2019, hazard="Flooding", adjusted="1000.0", month=5):
    return (
        f"SOUTH CAROLINA,{county},{fips},{year},{month},{hazard},0,0,0,0,800.0,{adjusted},0.03,0.04,"
        "1,0,2,0,0,0,3,2\n"
    )


@pytest.fixture
def write(tmp_path):
    def made(*rows, header=NEW, name="direct_loss_aggregated_output_7.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_text(header + "".join(rows), encoding=encoding)
        return path

    return made


def test_a_new_export_in_dollars_of_the_base_year(write):
    path = write(row(), row(month=6, adjusted="500"), row(fips="45003", county="Aiken"))
    found = read_sheldus(path, base_year=2023)
    ratio = price_ratio(2024, 2023)[0]
    assert found.table["fips"].tolist() == ["45001", "45003"]
    assert found.table["county"].tolist() == ["Abbeville", "Aiken"]
    np.testing.assert_allclose(found.table["loss"], [1500 * ratio, 1000 * ratio])
    assert found.table["injuries"].tolist() == [2, 1]
    assert found.table["duration_days"].tolist() == [6, 3]
    assert balance(found.account, SOURCE) == 2


def test_an_old_export_with_blanks_in_its_header(write):
    header = (
        "State Name,County Name,County FIPS,Year,Hazard,CropDmg,CropDmg(ADJ 2015),CropDmgPerCapita(ADJ 2015),"
        "PropertyDmg,PropertyDmg(ADJ 2015),PropertyDmgPerCapita(ADJ 2015),Injuries,Fatalities,Records\n"
    )
    path = write(
        "OREGON,Baker,'41001',2012,Wildfire,0,0,0,90,100,0.01,0,0,1\n",
        header=header,
        name="UID12345f_AGG_A.csv",
    )
    found = read_sheldus(path)
    np.testing.assert_allclose(found.table["loss"], 100 * price_ratio(2015, 2023))
    assert "dollars of 2015" in str(found.account[0])


def test_current_dollars_are_brought_to_the_base_year(write):
    header = "StateName,CountyName,County_FIPS,Year,Hazard,PropertyDmg\n"
    found = read_sheldus(write("OREGON,Baker,41001,2012,Tornado,90\n", header=header))
    np.testing.assert_allclose(found.table["loss"], 90 * price_ratio(2012, 2023))


def test_files_of_different_adjustment_meet_in_the_base_year(write, tmp_path):
    write(row())
    write(
        row(year=2018), header=NEW.replace("ADJ 2024", "ADJ 2020"), name="direct_loss_aggregated_output_8.csv"
    )
    found = read_sheldus(tmp_path)
    np.testing.assert_allclose(
        found.table["loss"], 1000 * np.array([price_ratio(2020, 2023)[0], price_ratio(2024, 2023)[0]])
    )


def test_historic_counties_go_into_their_successors(write):
    path = write(
        row(fips="'46113'", county="*Shannon"), row(fips="46102", county="Oglala Lakota"),
        row(fips="02063", county="Chugach"), row(fips="02066", county="Copper River"),
    )  # fmt: skip
    found = read_sheldus(path, base_year=2024)
    np.testing.assert_allclose(found.table.set_index("fips")["loss"][["02261", "46102"]], 2000.0)
    text = " ".join(map(str, found.account))
    assert "*Shannon" in text
    assert balance(found.account, SOURCE) == len(found.table) == 2


def test_every_row_left_out_is_counted_and_named(write):
    path = write(
        row(), row(hazard="Hail"), row(hazard="Hail"), row(fips="72001"), row(fips=""), row(year=1999),
        row(adjusted=""),
    )  # fmt: skip
    found = read_sheldus(path, years=range(2016, 2024))
    assert len(found.table) == balance(found.account, SOURCE) == 1
    text = " ".join(map(str, found.account))
    for words in (
        "2 rows left out: another hazard (Hail x2)",
        "1999",
        "72001",
        "blank",
        "property damage is blank",
    ):
        assert words in text


def test_mixed_adjustment_in_one_file_is_refused(write):
    header = NEW.replace("PropertyDmg(ADJ 2024)", "PropertyDmg(ADJ 2023)")
    with pytest.raises(TableError, match="2023 and 2024"):
        read_sheldus(write(row(), header=header))


@pytest.mark.parametrize(
    ("column", "named"),
    [("County_FIPS", "fips"), ("Hazard", "hazard"), ("Year", "year"), ("CountyName", "county")],
)
def test_a_missing_column_is_named(write, column, named):
    with pytest.raises(TableError, match=named):
        read_sheldus(write(row(), header=NEW.replace(column, "Other", 1)))


def test_no_property_damage_at_all_is_refused(write):
    header = NEW.replace("PropertyDmg,PropertyDmg(ADJ 2024),", "Other1,Other2,")
    with pytest.raises(TableError, match="PropertyDmg"):
        read_sheldus(write(row(), header=header))


def test_letters_of_another_encoding_are_read(write):
    found = read_sheldus(write(row(county="Doña Ana", fips="35013"), encoding="latin-1"))
    assert len(found.table) == 1


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (row(adjusted="a lot"), "no numbers"),
        (row(adjusted="-5"), "negative"),
        (row(year="2019 total"), "no numbers"),
        (row(year=""), "no year"),
    ],
)
def test_values_that_cannot_be_are_refused(write, broken, words):
    with pytest.raises(TableError, match=words):
        read_sheldus(write(row(), broken))


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(StoreError, match="SHELDUS"):
        read_sheldus(tmp_path)


def test_the_loader_alone_says_that_its_proxies_are_a_makeshift(write):
    made = load_sheldus(write(row(), row(year=2020), row(year=2021, adjusted="0")))
    assert made.roles.outcome == "log_loss"
    assert set(made.roles.proxies) == {"duration_days", "records", "injuries", "fatalities"}
    assert "WITHOUT LAND COVER" in made.about
    assert "1 rows left out: the reported loss is zero" in made.about
    np.testing.assert_allclose(np.exp(made.table["log_loss"]), made.table["loss"])
    assert isinstance(made.table, pd.DataFrame)
    assert made.table["id"].is_unique
