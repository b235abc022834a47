import json

import pandas as pd
import pytest

from proxycal.cli import main
from proxycal.testing import SeveralReports, simulate


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    SeveralReports(3.0).draw(1, 250).table.to_csv("table.csv", index=False)
    asked = ["--outcome", "own,register", "--environment", "e_1,e_2", "--direction", "under", "--out", "run"]
    assert main(["fit", "table.csv", *asked, "--quiet"]) == 0
    return tmp_path


def test_a_row_for_each_reporter_in_print_in_a_file_and_as_json(run, capsys):
    assert main(["reporters", "run", "--out", "reporters.csv"]) == 0
    assert "2 reporters: reporters.csv" in capsys.readouterr().out
    table = pd.read_csv("reporters.csv")
    assert table["reporter"].tolist() == ["own", "register"]
    assert 2.0 < table["size"][0] < 4.0
    assert main(["reporters", "run", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["verdict"] == "bias found"
    assert answer["reporters"][0]["q_value"] < 0.05


def test_the_settings_of_a_run_repeat_it(run, capsys):
    assert main(["fit", "table.csv", "--config", "run/config.toml", "--out", "again", "--quiet"]) == 0
    for name in ("run", "again"):
        assert main(["calibrate", name, "table.csv", "--out", f"{name}.csv", "--quiet"]) == 0
    pd.testing.assert_frame_equal(pd.read_csv("run.csv"), pd.read_csv("again.csv"))
    assert main(["totals", "run", "table.csv", "--quiet"]) == 0


def test_a_fit_of_one_report_has_no_reporters(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    simulate(n=60, d_e=2, n_proxies=2, alpha=5.0, random_state=0).table.to_csv("table.csv", index=False)
    asked = ["--outcome", "y", "--proxies", "p_1,p_2", "--environment", "e_1,e_2", "--direction", "over"]
    assert main(["fit", "table.csv", *asked, "--method", "moments", "--out", "run", "--quiet"]) == 0
    assert main(["reporters", "run"]) == 2
    assert "name several reports" in capsys.readouterr().err
