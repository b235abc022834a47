"""The auditor's sheet goes out and comes back to the right rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from proxycal.errors import TableError
from proxycal.table.audit_sheet import sheet, take_back
from proxycal.table.roles import Roles

ROLES = Roles("loss", ["p"], ["e"], id="county")


@dataclass
class Plan:
    rows: np.ndarray
    stratum: np.ndarray
    probability: np.ndarray
    ratio: float = 0.8
    reading: str = "so much"
    random: bool = False


@pytest.fixture
def table():
    return pd.DataFrame({"loss": np.arange(10.0), "p": 1.0, "e": 2.0, "county": [f"0{i}" for i in range(10)]})


@pytest.fixture
def filled(table):
    plan = Plan(np.array([1, 4, 7]), np.array([0, 0, 1]), np.array([0.2, 0.2, 0.5]))
    kept = np.arange(10) != 0
    return sheet(table, ROLES, kept, plan).assign(truth=[1.5, 4.5, 7.5])


def test_the_sheet_names_row_id_and_report(filled):
    # The plan chose among rows 1 to 9, and the first row of a file is its second line.
    assert filled["row"].tolist() == [4, 7, 10]
    assert filled["county"].tolist() == ["02", "05", "08"]
    assert filled["loss"].tolist() == [2.0, 5.0, 8.0]
    assert filled["stratum"].tolist() == [1, 1, 2]


def test_truths_come_back_to_their_rows(table, filled):
    back = take_back(table, ROLES, filled)
    assert back["truth"].dropna().to_dict() == {2: 1.5, 5: 4.5, 8: 7.5}
    assert back["inclusion_probability"].dropna().to_dict() == {2: 0.2, 5: 0.2, 8: 0.5}


def test_what_was_not_validated_is_stood_for_by_its_stratum(table, filled):
    back = take_back(table, ROLES, filled.assign(truth=[np.nan, 4.5, 7.5]))
    assert back["inclusion_probability"].dropna().to_dict() == {5: 0.1, 8: 0.5}


def test_rows_validated_before_stand_for_themselves(table, filled):
    before = table.assign(truth=np.where(np.arange(10) == 9, 9.9, np.nan))
    back = take_back(before, ROLES, filled)
    assert back["inclusion_probability"][9] == 1.0
    assert back["truth"][9] == 9.9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.assign(truth=np.nan), "is empty: fill in the true values first"),
        (lambda f: f.assign(truth=["ok", "5", "8"]), r"holds text .*: write numbers"),
        (lambda f: f.drop(columns="stratum"), "no column 'stratum': use the file that was written"),
        (lambda f: f.assign(row=[4, 7, 99]), "1 row of the audit cannot be found in the table"),
        (lambda f: f.assign(row=[4, 4, 10]), "names a row twice"),
        (lambda f: f.assign(loss=[2.0, 5.0, 9.0]), "are not those of the table"),
    ],
)
def test_a_sheet_that_does_not_fit_is_one_clear_line(table, filled, change, message):
    with pytest.raises(TableError, match=message):
        take_back(table, ROLES, change(filled))


def test_the_sheet_shows_what_names_the_row():
    n = 40
    table = pd.DataFrame(
        {
            "fips": [f"0{1000 + i}" for i in range(n)],
            "State": ["TX", "OK"] * (n // 2),
            "month": pd.date_range("2024-01-01", periods=n),
            "loss": np.arange(n) + 0.5,
            "p": np.sin(np.arange(n)),
            "e": np.cos(np.arange(n)),
            "clinic_no": np.arange(n) // 2,
            "note": [f"see file {i}, page {i % 7} of the folder" for i in range(n)],
        }
    )
    plan = Plan(np.array([1, 4]), np.array([0, 0]), np.array([0.2, 0.2]))
    made = sheet(table, Roles("loss", ["p"], ["e"], cluster="clinic_no"), np.ones(n, dtype=bool), plan)
    assert list(made) == [
        "row", "fips", "State", "month", "clinic_no", "loss", "stratum", "inclusion_probability", "truth",
    ]  # fmt: skip
    assert made["State"].tolist() == ["OK", "TX"]


def test_rows_of_a_file_of_which_some_were_left_out_are_named_as_in_the_file(table):
    table = table.set_axis(pd.Index([4, 5, 7, 8, 9, 10, 12, 13, 14, 15], name="row of the file"))
    plan = Plan(np.array([1, 4, 7]), np.array([0, 0, 1]), np.array([0.2, 0.2, 0.5]))
    filled = sheet(table, ROLES, np.ones(10, dtype=bool), plan).assign(truth=[1.5, 4.5, 7.5])
    assert filled["row"].tolist() == [5, 9, 13]
    back = take_back(table, ROLES, filled)
    assert back["truth"].dropna().to_dict() == {5: 1.5, 9: 4.5, 13: 7.5}
