"""`proxycal refute` and `proxycal power` as a shell sees them."""

from __future__ import annotations

import json

import pytest

import proxycal
from proxycal.cli import main

ROLES = ["--outcome", "y", "--proxies", "p_1,p_2", "--environment", "e_1,e_2"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trust")
    sim = proxycal.simulate(n=250, d_z=1, d_e=2, n_proxies=2, alpha=4.0, random_state=0)
    sim.table.to_csv(folder / "table.csv", index=False)
    assert main(["fit", str(folder / "table.csv"), *ROLES, "--out", str(folder / "run"), "--quiet"]) == 0
    return folder


def test_refute_prints_refits_and_what_they_mean(capsys, place):
    assert main(["refute", str(place / "run"), "--kind", "drop-proxy"]) == 0
    out = capsys.readouterr().out
    assert "without 'p_2'" in out
    assert "drop-proxy: " in out.splitlines()[-1]


def test_refute_as_json(capsys, place):
    assert main(["refute", str(place / "run"), "--kind", "seed", "--repetitions", "3", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["kind"] == "seed"
    assert len(values["refits"]) == 4


def test_power_prints_a_table_a_sentence_and_a_picture(capsys, place):
    picture = place / "power.svg"
    args = ["power", str(place / "table.csv"), *ROLES, "--alphas", "2", "--repetitions", "2"]
    assert main([*args, "--picture", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "coverage" in out
    assert out.splitlines()[-1].startswith("With your data")
    assert b"<svg" in picture.read_bytes()


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (["refute", "RUN", "--kind", "luck"], "drop-proxy"),
        (["refute", "absent"], "absent"),
        (["power", "TABLE", *ROLES, "--alphas", "1,large"], "0.5,1,2"),
    ],
)
def test_bad_questions_are_one_line(args, word, capsys, place):
    names = {"RUN": str(place / "run"), "TABLE": str(place / "table.csv")}
    assert main([names.get(one, one) for one in args]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert word in err
    assert len(err.splitlines()) == 1
