"""`proxycal check` as a shell sees it."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pandas as pd
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


def test_gaps_are_one_finding_and_the_reader_chooses_what_happens_to_their_rows(capsys, here):
    table = make_table()
    table.loc[[4, 5], "p_1"], table.loc[[5, 9], "hazard"] = None, None
    table.to_csv("gaps.csv", index=False)
    assert main(["check", "gaps.csv", *ASKED, "--config", "small.toml"]) == 0
    out = capsys.readouterr().out
    assert out.count("Are there missing values?") == 1
    assert "3 of 240 rows: 'p_1' 2, 'hazard' 2; first at rows 6, 7, 11 (the header is row 1)" in out
    assert "next:   choose what happens to rows with missing values" in out
    assert "  to leave out incomplete rows:\n" in out
    commands = next_commands(out)
    assert [command[command.index("--missing") + 1] for command in commands] == ["drop", "impute"]
    assert main([*commands[0], "--quiet"]) == 0


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


def losses(n: int = 400) -> pd.DataFrame:
    """Amounts of money over several decades, in the outcome and in both proxies."""
    rng = np.random.default_rng(0)
    z, income = rng.normal(size=n), rng.normal(size=n)
    loss = 1e5 * np.exp(1.8 * z + 0.3 * rng.normal(size=n))
    area = 40.0 * np.exp(1.5 * z + 0.3 * rng.normal(size=n))
    value = 9.0 * area * np.exp(rng.normal(size=n))
    return pd.DataFrame({"loss": loss, "area": area, "value": value, "income": income})


LOSSES = ["--outcome", "loss", "--proxies", "area,value", "--environment", "income"]


def test_the_fit_that_is_printed_follows_what_is_advised(capsys, here):
    losses().to_csv("losses.csv", index=False)
    assert main(["check", "losses.csv", *LOSSES, "--direction", "under"]) == 0
    out = capsys.readouterr().out
    (command,) = next_commands(out)
    assert command[command.index("--scale") + 1] == "log"
    assert command[command.index("--log-proxies") + 1] == "area,value"
    assert "--missing" not in command


def test_what_was_stated_is_kept_beside_what_is_advised(capsys, here):
    losses().to_csv("losses.csv", index=False)
    (here / "run.toml").write_text('scale = "linear"\n')
    stated = ["--direction", "under", "--config", "run.toml", "--log-proxies", "area"]
    assert main(["check", "losses.csv", *LOSSES, *stated]) == 0
    (command,) = next_commands(capsys.readouterr().out)
    assert "--scale" not in command
    assert command[command.index("--log-proxies") + 1] == "area"


def test_nobody_chooses_for_the_reader_what_happens_to_gaps_in_the_outcome(capsys, here):
    table = make_table()
    table.loc[[4, 5], "loss"] = None
    table.to_csv("gaps.csv", index=False)
    assert main(["check", "gaps.csv", *ASKED]) == 0
    (command,) = next_commands(capsys.readouterr().out)  # the outcome is never filled in
    assert command[command.index("--missing") + 1] == "drop"
