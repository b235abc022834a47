"""`proxycal impute`: a folder of completed tables, and what is said of it."""

from __future__ import annotations

import json

import pandas as pd

import proxycal as pc
from proxycal.cli import main


def test_tables_out_and_said(tmp_path, capsys):
    sim = pc.simulate(n=300, d_z=1, d_e=2, n_proxies=2, alpha=5.0, random_state=0)
    sim.table.to_csv(tmp_path / "table.csv", index=False)
    pc.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(sim.table).save(tmp_path / "run")
    command = ["impute", str(tmp_path / "run"), str(tmp_path / "table.csv"), "--out", str(tmp_path / "made")]
    assert main([*command, "--m", "3"]) == 0
    assert "3 tables of 300 rows completed" in capsys.readouterr().out
    assert main([*command, "--m", "2", "--seed", "9", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert len(said["files"]) == 2
    assert len(pd.read_csv(said["files"][0])) == 300
    assert main([*command, "--m", "0"]) == 2
    assert "m=0" in capsys.readouterr().err


def test_a_folder_of_tables_is_no_stream(tmp_path, capsys, monkeypatch):
    """Standard output was "a bug in proxycal", for a folder that was read as a file."""
    sim = pc.simulate(n=120, d_z=1, d_e=2, n_proxies=2, alpha=5.0, random_state=0)
    monkeypatch.chdir(tmp_path)
    sim.table.to_csv("table.csv", index=False)
    pc.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(sim.table).save("run")
    assert main(["impute", "run", "table.csv", "--m", "2", "--out", "-"]) == 2
    assert "'-' is standard output" in capsys.readouterr().err
    assert not (tmp_path / "-").exists()
    assert main(["impute", "run", "table.csv", "--m", "2", "--out", "made.xlsx"]) == 0
    assert sorted(path.name for path in (tmp_path / "made.xlsx").iterdir()) == [
        "table-01.csv",
        "table-02.csv",
    ]


def test_json_lines_in_and_csv_out(tmp_path, capsys):
    sim = pc.simulate(n=200, d_z=1, d_e=2, n_proxies=2, alpha=5.0, random_state=0)
    table = sim.table.assign(code="007")
    table.to_json(tmp_path / "table.jsonl", orient="records", lines=True, double_precision=15)
    pc.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(table).save(tmp_path / "run")
    command = ["impute", str(tmp_path / "run"), str(tmp_path / "table.jsonl"), "--m", "2", "--json"]
    assert main([*command, "--out", str(tmp_path / "made"), "--format", "csv"]) == 0
    first, _ = json.loads(capsys.readouterr().out)["files"]
    made = pd.read_csv(first, dtype={"code": str})
    assert (made["code"] == "007").all()
    assert (made["p_1"] - table["p_1"]).abs().max() < 1e-12
    # A folder of tables is no stream, and no other format is made up.
    assert main([*command, "--out", str(tmp_path / "other"), "--format", "jsonl"]) == 2
    assert "use csv or parquet" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()
