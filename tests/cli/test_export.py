"""`proxycal export`: a view from a run folder, that the database takes."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

from cli.shell import ASKED, make_table, refused
from proxycal.cli import main


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    make_table().to_parquet(folder / "table.parquet")
    command = ["fit", str(folder / "table.parquet"), *ASKED, "--method", "moments", "-q"]
    assert main([*command, "--out", str(folder / "run")]) == 0
    return folder


def test_what_is_printed_makes_the_view(place, capsys):
    assert main(["export", str(place / "run"), "--sql", "duckdb", "--from", "losses"]) == 0
    statement = capsys.readouterr().out
    with duckdb.connect() as database:
        database.execute(f"CREATE TABLE losses AS SELECT * FROM '{place / 'table.parquet'}'")
        database.execute(statement)
        answer = database.execute("SELECT * FROM calibrated").df()
    out = place / "c.parquet"
    assert main(["calibrate", str(place / "run"), str(place / "table.parquet"), "--out", str(out), "-q"]) == 0
    np.testing.assert_allclose(answer["y_cal"], pd.read_parquet(out)["y_cal"], rtol=1e-9, atol=1e-9)


def test_a_file_and_json(place, tmp_path, capsys):
    out = tmp_path / "view.sql"
    command = ["export", str(place / "run"), "--sql", "postgres", "--view", "v", "--out", str(out), "--json"]
    assert main(command) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["sql"], said["view"], said["out"]) == ("postgres", "v", str(out))
    assert 'CREATE OR REPLACE VIEW "v" AS' in out.read_text()


def test_a_method_without_a_closed_form_is_refused(fitted, here, capsys):
    assert "has no answer in closed form" in refused(capsys, here, ["export", str(fitted), "--sql", "duckdb"])


def test_a_file_of_another_ending_is_refused(place, here, capsys):
    command = ["export", str(place / "run"), "--sql", "duckdb", "--out", "view.txt"]
    assert "view.txt" in refused(capsys, here, command)
    assert not Path("view.txt").exists()
