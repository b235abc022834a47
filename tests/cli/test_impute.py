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
