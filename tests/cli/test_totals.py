"""`proxycal totals`: a table in, a table out, and nothing written for bad input."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import proxycal as pc
from proxycal.cli import main


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("totals")
    sim = pc.simulate(n=400, alpha=3.0, random_state=0)
    table = sim.table.assign(
        region=np.where(np.arange(400) % 3, "east", "west"), many=np.arange(400), minus=-1.0
    )
    table.to_csv(folder / "table.csv", index=False)
    model = pc.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(table)
    model.save(folder / "run")
    return folder, model, table


def test_the_file_is_what_python_gives(place, capsys):
    folder, model, table = place
    out = folder / "totals.csv"
    command = ["totals", str(folder / "run"), str(folder / "table.csv"), "--by", "region", "--out", str(out)]
    assert main(command) == 0
    pd.testing.assert_frame_equal(pd.read_csv(out), model.totals(table, by="region"), rtol=1e-9)
    shown = capsys.readouterr().out
    assert "95% interval" in shown
    assert "overall" in shown


def test_rows_without_an_answer_are_told(tmp_path, capsys):
    sim = pc.simulate(n=400, alpha=3.0, random_state=0)
    table = sim.table.copy()
    table.loc[:4, "p_1"] = np.nan
    table.to_csv(tmp_path / "table.csv", index=False)
    model = pc.ProxyCalibrator(sim.roles, direction="over", method="moments", missing="drop").fit(table)
    model.save(tmp_path / "run")
    assert main(["totals", str(tmp_path / "run"), str(tmp_path / "table.csv")]) == 0
    said = capsys.readouterr()
    assert "5 rows have missing values and no answer: they are in as reported" in said.out
    assert "5 rows of 400 had missing values" in said.err


def test_json_has_the_same_numbers(place, capsys):
    folder, model, table = place
    command = ["totals", str(folder / "run"), str(folder / "table.csv"), "--statistic", "mean", "--json"]
    assert main(command) == 0
    values = json.loads(capsys.readouterr().out)
    mean = model.totals(table, statistic="mean").iloc[0]
    np.testing.assert_allclose(values["totals"][0]["calibrated"], mean["calibrated"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--by", "regio"], "has no column 'regio'"),
        (["--weights", "minus"], "negative values, first at rows 2, 3, 4"),
        (["--weights", "region"], "must be numeric"),
        (["--statistic", "median"], "use 'total' or 'mean'"),
        (["--out", "totals.xls"], "totals.xls"),
    ],
)
def test_bad_input_writes_nothing(place, capsys, options, words, tmp_path, monkeypatch):
    folder, _, _ = place
    monkeypatch.chdir(tmp_path)
    asked = options if "--out" in options else [*options, "--out", str(tmp_path / "out.csv")]
    assert main(["totals", str(folder / "run"), str(folder / "table.csv"), *asked]) == 2
    error = capsys.readouterr().err.strip()
    assert words in error
    assert len(error.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_five_thousand_groups_and_text_for_the_outcome_write_nothing(place, capsys, tmp_path):
    folder, _, table = place
    run, out = str(folder / "run"), tmp_path / "out.csv"
    many, text = folder / "many.csv", folder / "text.csv"
    pd.concat([table] * 13).assign(many=np.arange(5200)).to_csv(many, index=False)
    table.assign(y="much").to_csv(text, index=False)
    for asked, words in (
        ([str(many), "--by", "many"], "levels or more, and totals are given for at most 4,000"),
        ([str(text)], "column 'y' (outcome) must be numeric but holds text ('much')"),
        ([str(folder / "table.csv"), "--by", "gone"], "has no column 'gone' for the groups of the totals"),
    ):
        assert main(["totals", run, *asked, "--out", str(out)]) == 2
        printed, error = capsys.readouterr()
        assert printed == ""
        assert words in error
        assert error.count("\n") == 1
        assert not out.exists()
