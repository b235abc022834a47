"""A folder with a table, and a run made from it once for all tests of the commands."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cli.shell import ASKED, SMALL, make_table
from json_schema import broken
from proxycal.cli import console, main
from proxycal.cli.schemas import names, schema_of
from proxycal.result import plain


@pytest.fixture(autouse=True)
def kept_schemas(monkeypatch):
    """Whatever a test makes a command print as JSON must keep that command's schema."""
    print_json = console.print_json

    def checked(values):
        caller = sys._getframe(1)
        place = caller.f_globals["__name__"].removeprefix("proxycal.cli.")
        command = caller.f_code.co_name if place == "questions" else place
        if caller.f_globals["__name__"].startswith("proxycal.cli.") and command != "schema":
            assert command in names(), f"proxycal {command} --json has no schema: write it in cli/schemas.py"
            assert broken(plain(values, infinity=None), schema_of(command)) == []
        print_json(values)

    monkeypatch.setattr(console, "print_json", checked)


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """A folder of its own with table.csv and small.toml, entered."""
    monkeypatch.chdir(tmp_path)
    make_table().to_csv("table.csv", index=False)
    Path("small.toml").write_text(SMALL)
    return tmp_path


@pytest.fixture(scope="session")
def fitted(tmp_path_factory) -> Path:
    """A run folder, made once by the command line."""
    folder = tmp_path_factory.mktemp("fitted")
    make_table().to_csv(folder / "table.csv", index=False)
    (folder / "small.toml").write_text(SMALL)
    run = folder / "run"
    code = main([
        "fit", str(folder / "table.csv"), *ASKED, "--id", "county", "--seed", "3",
        "--config", str(folder / "small.toml"), "--out", str(run), "--quiet",
    ])  # fmt: skip
    assert code == 0
    return run
