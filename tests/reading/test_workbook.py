"""Workbooks: the first sheet, to the last digit, and codes as they are shown."""

from __future__ import annotations

import datetime

import openpyxl
import pytest

from proxycal.errors import StoreError, UnavailableError
from proxycal.reading import workbook
from proxycal.reading.options import Reading
from proxycal.reading.table import read_table
from proxycal.reading.text import form_of, text_tables
from proxycal.reading.workbook import chosen_sheet, sheet_rows, sheets_of


def book(path, *sheets):
    made = openpyxl.Workbook()
    made.remove(made.active)
    for number, rows in enumerate(sheets):
        sheet = made.create_sheet(f"S{number}")
        for row in rows:
            sheet.append(row)
    made.save(path)
    return made


def test_cells_become_the_text_that_they_show(tmp_path):
    path = tmp_path / "t.xlsx"
    made = book(path, [["fips", "y", "day", "note"], [1003, 0.5, datetime.date(2024, 5, 1), "a, b"]])
    made["S0"]["A2"].number_format = "00000"
    made.save(path)
    assert list(sheet_rows(path, "S0"))[1] == ["01003", "0.5", "2024-05-01", "a, b"]


def test_rows_stand_as_they_are_blank_ones_too(tmp_path):
    book(tmp_path / "t.xlsx", [["a", "b"], [1, None], [None, None], [None, 2]])
    rows = list(sheet_rows(tmp_path / "t.xlsx", "S0"))
    assert rows == [["a", "b"], ["1", ""], ["", ""], ["", "2"]]


COVER, SMALL = [["Losses", None], [None, "by A. Clerk, 2024"]], [["a"], [1]]
LARGE = [["b", "c"], *[[i, i] for i in range(9)]]


def test_every_sheet_has_its_size_and_the_one_with_most_numbers_is_chosen(tmp_path):
    book(path := tmp_path / "t.xlsx", COVER, SMALL, LARGE)
    sheets = sheets_of(path)
    assert [(sheet.name, sheet.rows, sheet.columns, sheet.numbers) for sheet in sheets] == [
        ("S0", 2, 2, 0),
        ("S1", 2, 1, 1),
        ("S2", 10, 2, 18),
    ]
    assert chosen_sheet(path, sheets, None).name == "S2"
    assert [chosen_sheet(path, sheets, asked).name for asked in ("s1", "2", "S0")] == ["S1", "S1", "S0"]
    with pytest.raises(StoreError, match="has no sheet 'S7': it has 'S0', 'S1', 'S2'"):
        chosen_sheet(path, sheets, "S7")
    assert read_table(path).attrs["understood"] == "the sheet 'S2' of 3"
    assert read_table(path, sheet=2)["a"].tolist() == [1]


def test_a_hidden_sheet_is_not_chosen(tmp_path):
    made = book(path := tmp_path / "t.xlsx", SMALL, LARGE)
    made["S1"].sheet_state = "hidden"
    made.save(path)
    assert chosen_sheet(path, sheets_of(path), None).name == "S0"


def test_a_column_without_a_name_gets_one(tmp_path):
    book(path := tmp_path / "t.xlsx", [["a", None, "c"], [1, 2, 3], [4, 5, 6]])
    frame = read_table(path)
    assert list(frame) == ["a", "column 2", "c"]
    assert "1 column without a name ('column 2')" in frame.attrs["understood"]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([[]], "is empty"),
        ([["a", "b"], [1, 2], [3, 4, 5]], "row 3 .* beyond"),
    ],
)
def test_a_bad_sheet_is_one_message(rows, says, tmp_path):
    book(tmp_path / "t.xlsx", rows)
    with pytest.raises(StoreError, match=says):
        list(text_tables(tmp_path / "t.xlsx", form_of(tmp_path / "t.xlsx", "workbook", Reading()), 10))


def test_what_is_no_workbook(tmp_path):
    (tmp_path / "t.xlsx").write_bytes(b"PK no")
    with pytest.raises(StoreError, match="not a readable Excel workbook"):
        sheets_of(tmp_path / "t.xlsx")


def test_without_openpyxl_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(workbook, "is_installed", lambda package: False)
    with pytest.raises(UnavailableError, match=r"pip install 'proxycal\[excel\]', or save the sheet as CSV"):
        sheets_of(tmp_path / "t.xlsx")
