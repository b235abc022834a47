"""`proxycal calibrate` as a shell sees it."""

from __future__ import annotations

import shutil

import pandas as pd
import pytest

import proxycal
from cli.shell import make_table, refused
from proxycal.cli import main

CALIBRATION = ["y_cal", "y_cal_low", "y_cal_high", "p_biased", "shift", "mu"]


def test_an_unseen_category(capsys, here, fitted):
    make_table().assign(hazard="meteor").to_csv("new.csv", index=False)
    message = refused(capsys, here, ["calibrate", str(fitted), "new.csv", "--out", "calibrated.csv"])
    assert "meteor" in message
    assert "'hazard'" in message


def test_a_missing_column_in_a_new_table(capsys, here, fitted):
    make_table().drop(columns="p_2").to_csv("new.csv", index=False)
    assert "'p_2'" in refused(capsys, here, ["calibrate", str(fitted), "new.csv", "--out", "calibrated.csv"])


@pytest.mark.parametrize("name", ["no/such/folder.csv", "table.xls", "table.csv/x.csv"])
def test_a_file_that_cannot_be_written(name, capsys, here, fitted):
    refused(capsys, here, ["calibrate", str(fitted), "table.csv", "--out", name])


def test_a_table_that_was_calibrated_before(capsys, here, fitted):
    make_table().assign(y_cal=0.0).to_csv("again.csv", index=False)
    assert "'y_cal'" in refused(capsys, here, ["calibrate", str(fitted), "again.csv", "--out", "out.csv"])


def test_a_folder_that_is_no_run(capsys, here):
    (here / "other").mkdir()
    assert "other" in refused(capsys, here, ["calibrate", "other", "table.csv", "--out", "out.csv"])
    assert "absent" in refused(capsys, here, ["report", "absent"])


@pytest.mark.parametrize("name", ["tensors.safetensors", "results.json", "config.toml", "manifest.json"])
def test_a_damaged_run_folder(name, capsys, here, fitted):
    shutil.copytree(fitted, here / "run")
    whole = (here / "run" / name).read_bytes()
    (here / "run" / name).write_bytes(whole[: len(whole) // 2])
    message = refused(capsys, here, ["calibrate", "run", "table.csv", "--out", "out.csv"])
    assert "damaged" in message
    assert name in message


@pytest.mark.parametrize("name", ["calibrated.csv", "calibrated.parquet"])
def test_calibrate_appends_its_columns(name, capsys, here, fitted):
    capsys.readouterr()
    assert main(["calibrate", str(fitted), "table.csv", "--out", name]) == 0
    table = make_table()
    text = {"county": str}
    answer = pd.read_csv(name, dtype=text) if name.endswith("csv") else pd.read_parquet(name)
    assert list(answer.columns) == [*table.columns, *CALIBRATION]
    assert answer["county"].tolist() == table["county"].tolist(), "an id keeps its leading zero"
    assert answer["loss"].to_numpy() == pytest.approx(table["loss"].to_numpy(), rel=1e-12)
    assert (answer["loss"] - answer["shift"]).to_numpy() == pytest.approx(answer["y_cal"].to_numpy())


def test_an_outcome_left_alone_is_one_warning_line(capsys, here, fitted):
    assert proxycal.load(fitted).verdict_ == "not identified", "four epochs teach nothing"
    capsys.readouterr()
    assert main(["calibrate", str(fitted), "table.csv", "--out", "out.csv"]) == 0
    out, err = capsys.readouterr()
    assert err.startswith("warning: the verdict is 'not identified'")
    assert err.count("\n") == 1
    assert "left as reported" in out
    answer = pd.read_csv("out.csv")
    assert (answer["y_cal"] == answer["loss"]).all()
