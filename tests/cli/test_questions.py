"""`proxycal refute` and `proxycal power` as a shell sees them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import proxycal
from proxycal.cli import main

ASKED = ["--outcome", "y", "--proxies", "p_1,p_2", "--environment", "e_1,e_2", "--direction", "over"]


@pytest.fixture(autouse=True)
def one_core(monkeypatch):
    """All cores, the default, are one: starting processes takes longer than these refits."""
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trust")
    sim = proxycal.simulate(n=250, d_z=1, d_e=2, n_proxies=2, alpha=4.0, random_state=0)
    sim.table.to_csv(folder / "table.csv", index=False)
    assert main(["fit", str(folder / "table.csv"), *ASKED, "--out", str(folder / "run"), "--quiet"]) == 0
    return folder


def test_refute_prints_refits_and_what_they_mean(capsys, place):
    assert main(["refute", str(place / "run"), "--kind", "drop-proxy"]) == 0
    out = capsys.readouterr().out
    assert "without 'p_2'" in out
    assert "drop-proxy: " in out.splitlines()[-3]
    assert out.splitlines()[-1] == f"next:   proxycal report {place / 'run'}"


def test_refute_as_json(capsys, place):
    assert main(["refute", str(place / "run"), "--kind", "seed", "--repetitions", "3", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["kind"] == "seed"
    assert len(values["refits"]) == 4


def test_power_prints_a_table_a_sentence_and_a_picture(capsys, place):
    picture = place / "power.svg"
    args = ["power", str(place / "table.csv"), *ASKED, "--alphas", "2", "--repetitions", "2"]
    assert main([*args, "--picture", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "coverage" in out
    assert out.splitlines()[-1].startswith("2 tables of each size: too few to tell")
    assert b"<svg" in picture.read_bytes()


def test_what_was_asked_of_a_run_stands_in_its_report(capsys, place):
    run = place / "asked"
    fit = ["fit", str(place / "table.csv"), *ASKED, "--method", "moments", "--out", str(run), "--quiet"]
    assert main(fit) == 0
    assert "Attempts to refute it" not in (run / "report.html").read_text(encoding="utf-8")
    assert main(["refute", str(run), "--kind", "drop-proxy", "--quiet"]) == 0
    assert main(["power", str(run), "--alphas", "2", "--repetitions", "2", "--json"]) == 0
    reading = json.loads(capsys.readouterr().out)["reading"]
    assert main(["report", str(run), "--quiet"]) == 0
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "Does the result depend on a single proxy?" in page
    assert reading.split(".")[0] in page
    model = proxycal.load(run)
    assert list(model.result_.questions) == ["drop-proxy", "power"]
    assert model.plot("power").has_data()
    # A new fit does not take the place of these answers unless it is told to; then it answers for itself.
    assert main(fit) == 2
    assert list(proxycal.load(run).result_.questions) == ["drop-proxy", "power"]
    assert main([*fit, "--force"]) == 0
    assert proxycal.load(run).result_.questions == {}


def test_answers_of_another_fit_are_refused(place, tmp_path):
    model = proxycal.load(place / "run")
    model.result_ = replace(model.result_, questions={})
    model.refute("drop-proxy", 2)
    model.save(tmp_path / "run")
    other = (tmp_path / "run" / "questions.json").read_text().replace('"manifest": "', '"manifest": "0')
    (tmp_path / "run" / "questions.json").write_text(other)
    with pytest.raises(proxycal.ProxycalError, match="belongs to another fit: remove it"):
        proxycal.load(tmp_path / "run")
    (tmp_path / "run" / "questions.json").write_text("[")
    with pytest.raises(proxycal.ProxycalError, match="cannot be understood"):
        proxycal.load(tmp_path / "run")


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (["power", "RUN", "--seed", "1"], "leave out --seed"),
        (["refute", "RUN", "--kind", "luck"], "drop-proxy"),
        (["refute", "absent"], "absent"),
        (["power", "TABLE", *ASKED, "--alphas", "1,large"], "0.5,1,2"),
    ],
)
def test_bad_questions_are_one_line(args, word, capsys, place):
    names = {"RUN": str(place / "run"), "TABLE": str(place / "table.csv")}
    assert main([names.get(one, one) for one in args]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert word in err
    assert len(err.splitlines()) == 1
