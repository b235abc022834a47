"""Options for roles and settings come from the fields of `Roles` and `Settings`."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
import typer

from proxycal.cli import app
from proxycal.cli.options import ROLES, SETTINGS, Json, Table, takes
from proxycal.cli.request import Given
from proxycal.methods.registry import METHODS
from proxycal.table.roles import Roles


def options_of(command: str) -> dict[str, typer.core.TyperOption]:
    group = typer.main.get_command(app)
    return {name: option for option in group.commands[command].params for name in option.opts}


@pytest.mark.parametrize("command", ["fit", "power", "check"])
def test_every_role_is_an_option(command):
    options = options_of(command)
    assert {f"--{field.name}" for field in fields(Roles)} <= set(options)
    assert all(options[f"--{field.name}"].help for field in fields(Roles))


@pytest.mark.parametrize("command", ["fit", "power", "check"])
def test_settings_are_options_of_a_fit_and_of_what_prepares_it(command):
    settings = {"--method", "--direction", "--effect", "--level", "--missing", "--seed", "--jobs"}
    assert settings <= set(options_of(command))


def test_help_lists_what_a_setting_allows():
    options = options_of("fit")
    assert all(name in options["--method"].help for name in METHODS)
    assert "constant, linear or by:COLUMN" in options["--effect"].help


def test_a_command_gets_what_was_typed_and_keeps_its_own_options():
    received: dict = {}

    @takes(ROLES, SETTINGS)
    def command(table: Table, given: Given, jobs: int = 7, json_output: Json = False) -> None:
        received.update(table=table, given=given, jobs=jobs, json=json_output)

    program = typer.Typer()
    program.command()(command)
    program(["t.csv", "--proxies", "a,b", "--proxies", "c", "--seed", "3", "--json"], standalone_mode=False)
    assert received["given"] == Given({"proxies": ["a,b", "c"], "seed": 3}, None)
    assert received["given"].flags == ["--proxies", "--seed"]
    assert (received["table"], received["jobs"], received["json"]) == (Path("t.csv"), 7, True)
