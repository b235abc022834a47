"""Workbooks: the first sheet, to the last digit, and codes as they are shown."""

from __future__ import annotations

import datetime

import openpyxl
import pytest

from proxycal.errors import StoreError, UnavailableError
from proxycal.reading import workbook
from proxycal.reading.workbook import sheet_name, sheet_rows


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
    assert list(sheet_rows(path))[1] == ["01003", "0.5", "2024-05-01", "a, b"]


def test_rows_without_a_value_are_left_out_and_short_ones_filled(tmp_path):
    book(tmp_path / "t.xlsx", [["a", "b"], [1, None], [None, None], [None, 2]])
    assert list(sheet_rows(tmp_path / "t.xlsx")) == [["a", "b"], ["1", ""], ["", "2"]]


def test_the_first_sheet_is_named_where_there_are_others(tmp_path):
    book(tmp_path / "one.xlsx", [["a"], [1]])
    book(tmp_path / "two.xlsx", [["a"], [1]], [["b"], [2]])
    assert (sheet_name(tmp_path / "one.xlsx"), sheet_name(tmp_path / "two.xlsx")) == ("", "S0")


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([[]], "is empty"),
        ([["a", None, "c"], [1, 2, 3]], "column 2 .* no name"),
        ([["a"], [1, 2]], "row 2 .* beyond"),
    ],
)
def test_a_bad_sheet_is_one_message(rows, says, tmp_path):
    book(tmp_path / "t.xlsx", rows)
    with pytest.raises(StoreError, match=says):
        list(sheet_rows(tmp_path / "t.xlsx"))


def test_what_is_no_workbook(tmp_path):
    (tmp_path / "t.xlsx").write_bytes(b"PK no")
    with pytest.raises(StoreError, match="not a readable Excel workbook"):
        list(sheet_rows(tmp_path / "t.xlsx"))


def test_without_openpyxl_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(workbook, "is_installed", lambda package: False)
    with pytest.raises(UnavailableError, match=r"pip install 'proxycal\[excel\]', or save the sheet as CSV"):
        list(sheet_rows(tmp_path / "t.xlsx"))
