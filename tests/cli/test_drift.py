"""`proxycal drift`, and what `calibrate` and `totals` say of next month's file."""

from __future__ import annotations

import json
import shutil

import pandas as pd
import pytest

from month_tables import rows
from proxycal.cli import main

ROLES = ["--outcome", "loss", "--proxies", "area,wind,index", "--environment", "income,share,slope,region"]
ASKED = [*ROLES, "--direction", "under", "--method", "moments", "--scale", "log", "--log-proxies", "area"]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("next-month")
    rows(500, seed=1).to_csv(folder / "may.csv", index=False)
    assert main(["fit", str(folder / "may.csv"), *ASKED, "--out", str(folder / "run")]) == 0
    return folder


@pytest.fixture
def here(fitted, tmp_path, monkeypatch):
    shutil.copytree(fitted, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_other_units_end_calibrate_and_totals(here, capsys):
    rows(300, seed=2).assign(loss=lambda t: t["loss"] / 1000.0).to_csv("june.csv", index=False)
    rows(300, seed=3).to_csv("july.csv", index=False)
    for command in (
        ["calibrate", "run", "june.csv", "--out", "out.csv"],
        ["calibrate", "run", "july.csv", "june.csv", "--out", "out"],
        ["totals", "run", "june.csv"],
    ):
        capsys.readouterr()
        assert main(command) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert "'loss'" in err
        assert "1/1,000" in err
        assert "thousands" in err
        assert not (here / "out.csv").exists()
        assert not (here / "out").exists()
        assert ("june.csv" in err) == (command[0] == "calibrate")


def test_a_changed_bias_is_a_warning_on_stderr_and_in_json(here, capsys):
    rows(500, seed=4, ratio=0.3).to_csv("june.csv", index=False)
    for command in (["calibrate", "run", "june.csv", "--out", "out.csv"], ["totals", "run", "june.csv"]):
        capsys.readouterr()
        assert main([*command, "--json"]) == 0
        out, err = capsys.readouterr()
        assert "refit" in err
        assert "refit" in [row["what"] for row in json.loads(out)["drift"]]


def test_the_fitted_rows_and_new_rows_of_their_law_are_silent(here, capsys):
    rows(300, seed=5).to_csv("june.csv", index=False)
    pd.read_csv("may.csv").nlargest(40, "income").to_csv("rich.csv", index=False)
    for table in ("may.csv", "june.csv", "rich.csv"):
        capsys.readouterr()
        assert main(["calibrate", "run", table, "--out", "out.csv", "--quiet"]) == 0
        assert "moved" not in capsys.readouterr().err


def test_drift_lists_every_column(here, capsys):
    table = rows(300, seed=6)
    table["area"] *= 10.0
    table.to_parquet("june.parquet")
    capsys.readouterr()
    assert main(["drift", "run", "june.parquet", "--out", "drift.csv"]) == 0
    out = capsys.readouterr().out
    assert "300 rows compared with 500 fitted ones" in out
    assert "in other units" in out
    written = pd.read_csv("drift.csv").set_index("column")
    assert len(written) == 9
    assert written.loc["area", "what"] == "unit"
    assert written.loc["area", "size"] == pytest.approx(10.0, rel=0.15)
    capsys.readouterr()
    assert main(["drift", "run", "june.parquet", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["compared"] == 300
    assert [row["column"] for row in found["columns"] if row["what"] == "unit"] == ["area"]
