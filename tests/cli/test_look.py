"""`proxycal look` shows what is understood of a file, and `check` without roles does the same."""

from __future__ import annotations

import json
import shlex

import numpy as np
import openpyxl
import pytest

from cli.shell import make_table, refused
from proxycal.cli import main


@pytest.fixture
def book(here):
    """A cover sheet, and a sheet with a title, units, a total and a note."""
    made = openpyxl.Workbook()
    made.active.append(["Losses of last year"])
    sheet = made.create_sheet("Data")
    sheet.append(["Losses by county"])
    sheet.append(["county", "reported loss", "flooded area", "% rural"])
    sheet.append([None, "USD", "km2", "%"])
    rng = np.random.default_rng(0)
    area = np.exp(rng.normal(size=40)).round(2)
    loss = (1000 * area * np.exp(0.5 * rng.normal(size=40))).round()
    for i in range(40):
        sheet.append([f"county {i}", f"${loss[i]:,.0f}" if i else "n.a.", float(area[i]), i % 7])
    sheet.append(["Total", float(loss[1:].sum()), float(area.sum()), None])
    sheet.append(["Source: the state agency"])
    made.save("book.xlsx")
    return here


def test_it_shows_layout_columns_totals_and_guesses(book, capsys):
    assert main(["look", "book.xlsx"]) == 0
    out = capsys.readouterr().out
    assert "book.xlsx: 40 rows, 4 columns" in out
    assert "sheet 'Data': 45 rows, 4 columns, read" in out
    assert "column names in row 2, units in row 3 ('reported loss' in USD, 'flooded area' in km2" in out
    assert "1 note left out" in out
    assert "'n.a.' read as missing ('reported loss' 1)" in out
    assert "1 row is a total of other rows: row 44 ('Total'); below they are left out" in out
    assert "proxies: flooded area (correlated with reported loss" in out
    assert "environment: % rural ('rural' in its name" in out
    assert "choose what the totals are" in out
    assert "another sheet: --sheet NAME" in out


def test_the_check_that_is_printed_works(book, capsys):
    assert main(["look", "book.xlsx", "--total-rows", "drop"]) == 0
    out = capsys.readouterr().out
    command = shlex.split(out[out.index("proxycal check") :])[1:]
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 40


def test_check_without_roles_does_the_same(book, capsys):
    assert main(["look", "book.xlsx"]) == 0
    looked = capsys.readouterr()
    assert main(["check", "book.xlsx"]) == 0
    assert capsys.readouterr() == looked


def test_json_for_scripts(book, capsys):
    assert main(["look", "book.xlsx", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    loss = found["columns"][1]
    assert (loss["name"], loss["unit"], loss["missing"], loss["role"]) == (
        "reported loss",
        "USD",
        1,
        "outcome",
    )
    assert [sheet["name"] for sheet in found["sheets"]] == ["Sheet", "Data"]
    assert len(found["next"]) == 2
    assert main(["look", "book.xlsx", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_clean_table_of_any_kind_is_shown(here, capsys):
    make_table().to_parquet("t.parquet")
    for name in ("table.csv", "t.parquet"):
        assert main(["look", name]) == 0
        out = capsys.readouterr().out
        assert "240 rows, 7 columns" in out
        assert "outcome: loss (its name says 'loss')" in out
        assert "understood" not in out.replace(
            "understood: codes with leading zeros kept as text ('county')", ""
        )


def test_another_sheet_and_what_is_no_table(book, capsys):
    assert "has no sheet 'x': it has 'Sheet', 'Data'" in refused(
        capsys, book, ["look", "book.xlsx", "--sheet", "x"]
    )
    assert "no such file" in refused(capsys, book, ["look", "nowhere.csv"])
