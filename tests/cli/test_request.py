"""Options on top of a settings file, and settings files that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

import proxycal
from cli.shell import ASKED, ROLES, SMALL, refused
from proxycal.cli import main


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("outcome = ", "not valid TOML"),
        ("tomato = 1\n", "tomato"),
        ("[paper]\nepocs = 3\n", "paper.epocs"),
        ("level = 'high'\n", "level"),
        ("proxies = 3\n", "proxies"),
    ],
)
def test_a_settings_file_that_cannot_be_used(text, says, capsys, here):
    (here / "run.toml").write_text(text)
    args = ["fit", "table.csv", "--outcome", "loss", "--environment", "income", "--config", "run.toml"]
    args += ["--direction", "over"] + ([] if "proxies" in text else ["--proxies", "p_1"])
    assert says in refused(capsys, here, [*args, "--out", "run"])


def test_a_missing_settings_file(capsys, here):
    args = ["fit", "table.csv", *ASKED, "--config", "none.toml", "--out", "run"]
    assert "'none.toml'" in refused(capsys, here, args)


def test_options_win_over_the_settings_file(here):
    Path("run.toml").write_text(
        'outcome = "loss"\nproxies = ["p_1", "p_2"]\nenvironment = ["income"]\n'
        f'direction = "under"\nseed = 5\n{SMALL}'
    )
    assert main(["fit", "table.csv", "--config", "run.toml", "--seed", "9", "--out", "run", "--quiet"]) == 0
    model = proxycal.load("run")
    assert model.roles.proxies == ("p_1", "p_2")
    assert (model.direction, model.random_state, model.paper.epochs) == ("under", 9, 4)


def test_the_settings_of_a_run_can_be_used_again(here, fitted):
    args = ["fit", "table.csv", *ASKED, "--id", "county", "--config", str(fitted / "config.toml")]
    assert main([*args, "--out", "again", "--quiet"]) == 0
    assert (here / "again" / "results.json").read_bytes() == (fitted / "results.json").read_bytes()


@pytest.mark.parametrize("command", [["fit", "--out", "run"], ["power"]])
def test_a_direction_that_nobody_stated_is_asked_for(command, capsys, here):
    name, *rest = command
    message = refused(capsys, here, [name, "table.csv", *ROLES, *rest])
    assert "data cannot tell over-reporting from under-reporting" in message
    assert "pass --direction over or --direction under" in message
    assert "in the --config file" in message
