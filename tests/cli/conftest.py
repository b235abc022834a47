"""A folder with a table, and a run made from it once for all tests of the commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.shell import ASKED, SMALL, make_table
from proxycal.cli import main


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
