"""Answers as a workbook: reopened with types, leading zeros and dates intact, and what it all means."""

from __future__ import annotations

import datetime

import openpyxl
import pandas as pd
import pytest

from cli.shell import ASKED, make_table
from proxycal import workbook
from proxycal.cli import main


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("workbook")
    table = make_table().assign(
        day=pd.Timestamp("2024-01-05"), note="=HYPERLINK(1)", count=3, seen=[True, False] * 120
    )
    table.loc[3, "note"] = None
    table.to_parquet(folder / "table.parquet")
    command = ["fit", str(folder / "table.parquet"), *ASKED, "--method", "moments", "--id", "county"]
    assert main([*command, "--out", str(folder / "run"), "-q"]) == 0
    return folder


def test_a_calibrated_workbook_keeps_types_zeros_and_dates(place, capsys):
    out = place / "c.xlsx"
    assert main(["calibrate", str(place / "run"), str(place / "table.parquet"), "--out", str(out)]) == 0
    assert "240 rows calibrated" in capsys.readouterr().out
    book = openpyxl.load_workbook(out)
    assert book.sheetnames == ["table", "columns", "methods"]
    names, first = ([cell.value for cell in row] for row in list(book["table"].rows)[:2])
    row = dict(zip(names, first, strict=True))
    assert row["county"] == "01000"
    assert row["day"] == datetime.datetime(2024, 1, 5)
    assert (row["count"], row["seen"]) == (3, True)
    note = list(book["table"].rows)[1][names.index("note")]
    assert (note.value, note.data_type) == ("=HYPERLINK(1)", "s")
    assert list(book["table"].rows)[4][names.index("note")].value is None
    parquet = place / "c.parquet"
    assert main(["calibrate", str(place / "run"), str(place / "table.parquet"), "--out", str(parquet)]) == 0
    frame = pd.read_excel(out, dtype={"county": str})
    pd.testing.assert_frame_equal(frame, pd.read_parquet(parquet), check_dtype=False, rtol=1e-12)


def test_columns_have_a_meaning_and_a_unit_and_methods_say_how(place):
    out = place / "totals.xlsx"
    command = [
        "totals",
        str(place / "run"),
        str(place / "table.parquet"),
        "--by",
        "hazard",
        "--out",
        str(out),
    ]
    assert main([*command, "-q"]) == 0
    columns = pd.read_excel(out, sheet_name="columns", index_col=0, keep_default_na=False)
    assert columns.loc["calibrated"].tolist() == ["what it is without the bias", "as loss"]
    assert "environment" in columns.loc["hazard", "meaning"]
    methods = dict(
        pd.read_excel(out, sheet_name="methods", header=None, keep_default_na=False).to_numpy()[1:]
    )
    assert methods["formula"] == "loss ~ p_1 + p_2 + p_3 | income + hazard"
    assert methods["verdict"] == "bias found"
    assert methods["how to cite"].startswith("loss is over-reported by about")


def test_a_table_longer_than_a_sheet_is_refused(place, monkeypatch, capsys):
    monkeypatch.setattr(workbook, "ROWS", 240)
    out = place / "long.xlsx"
    assert main(["calibrate", str(place / "run"), str(place / "table.parquet"), "--out", str(out)]) == 2
    assert "cannot hold 240 rows" in capsys.readouterr().err
    assert not out.exists()
