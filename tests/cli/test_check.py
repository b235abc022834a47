"""`proxycal check` as a shell sees it."""

from __future__ import annotations

import json
import shlex

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
    assert found["ok"] is False
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
    assert "choose the direction of the bias, which data cannot tell" in out
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
