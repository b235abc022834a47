"""`proxycal band`: what Python gives, labelled as an assumption."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

import proxycal as pc
from cli.shell import make_table, refused
from proxycal.cli import main

BAND = ["--share", "0.1,0.4", "--amount", "1,2", "--by", "hazard"]


def test_the_file_is_what_python_gives(here, fitted, capsys):
    assert main(["band", str(fitted), "table.csv", *BAND, "--out", "band.csv"]) == 0
    made = pc.load(fitted).band(pd.read_csv("table.csv"), share=(0.1, 0.4), amount=(1, 2), by="hazard")
    pd.testing.assert_frame_equal(pd.read_csv("band.csv"), made, rtol=1e-9)
    shown = capsys.readouterr().out
    assert shown.startswith("An assumption, not a finding: in every group 10% to 40% of the rows")
    assert "1 to 2 too much" in shown


def test_a_workbook_and_json(here, fitted, capsys):
    assert main(["band", str(fitted), "table.csv", *BAND, "--out", "band.xlsx", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["hazard"] for row in told["totals"]] == ["fire", "flood", "overall"]
    sheets = pd.read_excel(here / "band.xlsx", sheet_name=None)
    assert sheets["table"]["rows"].sum() == 2 * len(make_table())
    meanings = sheets["columns"].set_index("column")["meaning"]
    assert "assumption" in meanings["low"]


def test_a_range_that_is_none_is_refused(here, fitted, capsys):
    error = refused(capsys, here, ["band", str(fitted), "table.csv", "--share", "some", "--amount", "1"])
    assert "such as 0.1,0.4" in error
    assert not Path("band.csv").exists()
