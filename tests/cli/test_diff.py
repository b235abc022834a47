"""`proxycal diff`: nothing where two runs say the same, else what was asked and found of each."""

from __future__ import annotations

import json

import pytest

from cli.shell import ASKED, make_table
from proxycal.cli import main


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("diff")
    make_table().to_csv(folder / "table.csv", index=False)
    for name, more in (("a", []), ("b", []), ("c", ["--level", "0.9", "--id", "county"])):
        command = ["fit", str(folder / "table.csv"), *ASKED, "--method", "moments", *more, "-q"]
        assert main([*command, "--out", str(folder / name)]) == 0
    return folder


def test_two_runs_of_the_same_say_the_same(runs, capsys):
    assert main(["diff", str(runs / "a"), str(runs / "b")]) == 0
    assert capsys.readouterr().out == "the two runs say the same\n"


def test_what_was_asked_and_found_stands_side_by_side(runs, capsys):
    assert main(["diff", str(runs / "a"), str(runs / "c")]) == 0
    shown = capsys.readouterr().out
    assert "level" in shown
    assert "county" in shown
    assert main(["diff", str(runs / "a"), str(runs / "c"), "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert not values["same"]
    found = {row["what"]: (row["first"], row["second"]) for row in values["differences"]}
    assert found["level"] == ("0.95", "0.9")
    assert found["id"] == ("-", "county")
    first, second = found["size, moments"]
    assert first.split()[0] == second.split()[0]  # the size is the same, its interval narrower
    assert "formula" not in found
