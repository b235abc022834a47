"""`proxycal check` as a shell sees it."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pytest

from cli.shell import ASKED, ROLES, make_table
from proxycal.cli import main


def test_check_names_what_to_look_at(capsys, here):
    make_table().assign(p_3=1.0).to_csv("flat.csv", index=False)
    assert main(["check", "flat.csv", *ASKED]) == 0
    out = capsys.readouterr().out
    assert "p_3" in out
    assert "->" in out
    assert main(["check", "flat.csv", *ASKED, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["ok"], found["must_fix"]) == (False, 0)
    assert found["rows"] == 240


def next_commands(out: str) -> list[list[str]]:
    """The commands printed below "next:", as a shell would take them."""
    below = out[out.index("next:") :]
    return [
        shlex.split(line[line.index("proxycal ") :])[1:] for line in below.splitlines() if "proxycal " in line
    ]


def test_the_direction_is_left_to_the_reader(capsys, here):
    assert main(["check", "table.csv", *ROLES, "--seed", "4", "--config", "small.toml"]) == 0
    out = capsys.readouterr().out
    assert "choose the direction of the bias; the data cannot tell" in out
    over, under = next_commands(out)
    assert over[over.index("--direction") + 1] == "over"
    assert under[under.index("--direction") + 1] == "under"
    assert "--seed" in over
    assert main([*under, "--quiet"]) == 0


@pytest.mark.parametrize("stated", ["option", "file"])
def test_a_stated_direction_is_kept(stated, capsys, here):
    (here / "run.toml").write_text('direction = "under"\n')
    given = ["--direction", "under"] if stated == "option" else ["--config", "run.toml"]
    assert main(["check", "table.csv", *ROLES, *given]) == 0
    (command,) = next_commands(capsys.readouterr().out)
    assert command[command.index("--direction") + 1] == "under"


def test_gaps_are_one_finding_and_the_next_command_leaves_their_rows_out(capsys, here):
    table = make_table()
    table.loc[[4, 5], "p_1"], table.loc[[5, 9], "hazard"] = None, None
    table.to_csv("gaps.csv", index=False)
    assert main(["check", "gaps.csv", *ASKED, "--config", "small.toml"]) == 0
    out = capsys.readouterr().out
    assert out.count("Are there missing values?") == 1
    assert "3 of 240 rows: 'p_1' 2, 'hazard' 2; first at rows 6, 7, 11 (the header is row 1)" in out
    (command,) = next_commands(out)
    assert command[command.index("--missing") + 1] == "drop"
    assert main([*command, "--quiet"]) == 0


def test_the_gate_is_closed_while_something_must_be_fixed(capsys, here):
    table = make_table().assign(p_2=1.0)
    table.loc[7, "income"] = np.inf
    table.to_csv("bad.csv", index=False)
    assert main(["check", "bad.csv", *ROLES]) == 2
    out = capsys.readouterr().out
    assert "findings: 1 to fix before a fit" in out
    assert out.index(" FIX  Are there infinite values?") < out.index("   !  Does every column vary?")
    (command,) = next_commands(out)
    assert command[0] == "check"
    assert main(command) == 2
    assert main(["check", "bad.csv", *ROLES, "--json"]) == 2
    capsys.readouterr()
    assert main(["check", "bad.csv", *ROLES, "--quiet"]) == 2
    assert capsys.readouterr() == ("", "")
