"""`proxycal audit`: a sheet for the auditor, and the filled-in one back into the table."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pandas as pd
import pytest

import proxycal as pc
from proxycal.cli import main


def test_out_to_the_auditor_and_back(tmp_path, capsys):
    sim = pc.simulate(n=300, d_z=1, d_e=2, n_proxies=2, alpha=5.0, random_state=0)
    place, sheet, audited = (tmp_path / name for name in ("table.csv", "sheet.csv", "audited.csv"))
    sim.table.to_csv(place, index=False)
    pc.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(sim.table).save(tmp_path / "run")
    start = ["audit", str(tmp_path / "run"), str(place)]
    assert main([*start, "--n", "40", "--out", str(sheet)]) == 0
    said = capsys.readouterr().out
    assert "--filled" in said
    rows = pd.read_csv(sheet)
    assert len(rows) == 40
    rows["truth"] = sim.truth["y_true"].to_numpy()[rows["row"] - 2]
    rows.to_csv(sheet, index=False)
    assert main([*start, "--filled", str(sheet), "--out", str(audited), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["validated"] == 40
    back = pd.read_csv(audited)
    known = back["truth"].notna()
    assert np.allclose(back["truth"][known], sim.truth["y_true"][known])
    assert back["inclusion_probability"].notna().equals(known)


@pytest.mark.parametrize(("asked", "method"), [([], None), (["--method", "exact"], "exact")])
def test_the_fit_after_an_audit_has_a_method_only_where_one_was_chosen(asked, method, tmp_path, capsys):
    sim = pc.simulate(n=300, d_z=1, d_e=2, n_proxies=2, alpha=5.0, random_state=0)
    place, sheet = (str(tmp_path / name) for name in ("table.csv", "sheet.csv"))
    sim.table.to_csv(place, index=False)
    roles = ["--outcome", "y", "--proxies", ",".join(sim.roles.proxies), "--environment", "e_1,e_2"]
    run, audited = str(tmp_path / "run"), str(tmp_path / "audited.csv")
    assert main(["fit", place, *roles, "--direction", "over", *asked, "--out", run, "--quiet"]) == 0
    assert main(["audit", run, place, "--n", "40", "--out", sheet, "--quiet"]) == 0
    rows = pd.read_csv(sheet)
    rows.assign(truth=sim.truth["y_true"].to_numpy()[rows["row"] - 2]).to_csv(sheet, index=False)
    capsys.readouterr()
    assert main(["audit", run, place, "--filled", sheet, "--out", audited]) == 0
    said = capsys.readouterr().out
    command = shlex.split(said[said.index("proxycal fit") :])[1:]
    assert ("--method" in command) == (method is not None)
    assert main([*command[: command.index("--out")], "--out", str(tmp_path / "again"), "--quiet"]) == 0
    assert pc.load(tmp_path / "again").result_.settings.method == (method or "validated")


def test_an_empty_sheet_is_refused(tmp_path, capsys):
    sim = pc.simulate(n=300, d_z=1, d_e=2, n_proxies=2, alpha=5.0, random_state=0)
    place, sheet = tmp_path / "table.csv", tmp_path / "sheet.csv"
    sim.table.to_csv(place, index=False)
    pc.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(sim.table).save(tmp_path / "run")
    start = ["audit", str(tmp_path / "run"), str(place)]
    assert main([*start, "--n", "10", "--out", str(sheet), "--quiet"]) == 0
    assert main([*start, "--filled", str(sheet), "--out", str(tmp_path / "x.csv")]) == 2
    assert "fill in the true values first" in capsys.readouterr().err


def test_that_rows_are_chosen_at_random_is_said_once(tmp_path, capsys):
    sim = pc.simulate(n=300, d_z=1, d_e=2, n_proxies=2, alpha=0.0, random_state=0)
    place = tmp_path / "table.csv"
    sim.table.to_csv(place, index=False)
    pc.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(sim.table).save(tmp_path / "run")
    capsys.readouterr()
    assert main(["audit", str(tmp_path / "run"), str(place), "--out", str(tmp_path / "sheet.csv")]) == 0
    out, err = capsys.readouterr()
    assert out.count("chosen at random") == 1
    assert err == ""
