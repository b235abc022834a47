"""The embedded NHANES table: counts against the file itself, and codes that are no answers."""

from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

from proxycal.datasets import load_nhanes
from proxycal.datasets.nhanes import BODY_FAT, ENVIRONMENT, OUTCOMES, PROXIES, complete
from proxycal.errors import SettingsError, TableError


@pytest.fixture(scope="module")
def raw():
    with (files("proxycal.datasets") / "data" / "nhanes_2017_2018.csv.gz").open("rb") as source:
        return pd.read_csv(source, compression="gzip")


def test_the_file_is_the_one_described(raw):
    assert raw.shape == (5637, 21)
    assert raw["seqn"].is_unique
    assert (raw["weight_selfreport_kg"] - raw["weight_kg"]).mean() == pytest.approx(-0.711781, abs=1e-6)


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("body_fat", [False, True])
def test_rows_are_those_with_every_column(raw, outcome, body_fat):
    data = load_nhanes(outcome, body_fat)
    pairs = [OUTCOMES[kind] for kind in (("weight", "height") if outcome == "bmi" else (outcome,))]
    needed = [*PROXIES, *(BODY_FAT if body_fat else ()), *ENVIRONMENT, *sum(pairs, ())]
    adults = raw[(raw["age"] >= 20) & (raw["education"] != "Don't Know")]
    assert data.table["seqn"].tolist() == adults.dropna(subset=needed)["seqn"].tolist()
    assert not data.table[list(data.roles.columns)].isna().any().any()
    assert (data.roles.outcome, data.roles.truth) == (OUTCOMES[outcome][0], None)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_the_account_adds_up(raw, outcome):
    table, account = complete(raw, outcome, list(PROXIES))
    counts = list(account.values())
    assert counts[0] - sum(counts[1:-1]) == counts[-1] == len(table)
    assert f"rows that stay: {len(table)}" in load_nhanes(outcome).about


@pytest.mark.parametrize("code", [7777, 9999, 7777 * 0.45359237, 9999 * 2.54, 3.0])
@pytest.mark.parametrize("outcome", ["weight", "height"])
def test_codes_are_no_answers_and_are_counted(raw, outcome, code):
    said, _ = OUTCOMES[outcome]
    table, _ = complete(raw, outcome, list(PROXIES))
    spoilt = raw.copy()
    spoilt.loc[spoilt["seqn"].isin(table["seqn"][:7]), said] = code
    left, account = complete(spoilt, outcome, list(PROXIES))
    assert [count for why, count in account.items() if "refused, not known or implausible" in why] == [7]
    assert len(left) == len(table) - 7
    assert left[said].max() < 350


def test_bmi_is_weight_over_height_squared():
    first = load_nhanes("bmi").table.iloc[0]
    assert first["bmi"] == pytest.approx(first["weight_kg"] / first["height_cm"] ** 2 * 1e4)
    assert first["bmi_selfreport"] == pytest.approx(
        first["weight_selfreport_kg"] / first["height_selfreport_cm"] ** 2 * 1e4
    )


def test_validated_rows_hold_the_measurement_and_no_others_do():
    data = load_nhanes("weight", validated=0.2, random_state=3)
    known = data.table["validated"].notna()
    assert known.sum() == round(0.2 * len(data.table))
    np.testing.assert_array_equal(data.table.loc[known, "validated"], data.table.loc[known, "weight_kg"])
    assert data.roles.truth == "validated"
    again = load_nhanes("weight", validated=0.2, random_state=3).table["validated"]
    other = load_nhanes("weight", validated=0.2, random_state=4).table["validated"]
    pd.testing.assert_series_equal(data.table["validated"], again)
    assert (other.notna() != known).any()


def test_about_names_source_and_terms():
    about = load_nhanes().about
    assert "National Health and Nutrition Examination Survey" in " ".join(about.split())
    assert "public domain" in about


def test_what_cannot_be_loaded_is_refused(raw):
    with pytest.raises(SettingsError, match="use weight, height, bmi"):
        load_nhanes("shoe size")
    with pytest.raises(SettingsError, match="must be a share"):
        load_nhanes(validated=10)
    with pytest.raises(TableError, match="rows that stay: 0"):
        complete(raw[raw["age"] < 20], "weight", list(PROXIES))
