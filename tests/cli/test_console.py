"""Bars and commands: what the commands print beside their answers."""

from __future__ import annotations

import io
import json
import sys

from proxycal.cli import console
from proxycal.report.shell import shell
from proxycal.settings import Settings
from proxycal.table.roles import Roles


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_there_is_no_bar_where_nobody_watches(monkeypatch):
    with console.progress_bar("fits", quiet=False) as progress:
        assert progress is None
    monkeypatch.setattr(sys, "stderr", Terminal())
    with console.progress_bar("fits", quiet=True) as progress:
        assert progress is None


def test_a_bar_counts_on_a_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with console.progress_bar("fits", quiet=False) as progress:
        assert progress is not None
        progress(3, 12)
    assert "3/12" in sys.stderr.getvalue()


def test_numbers_that_json_does_not_know_are_null(capsys):
    console.print_json({"a": [float("nan"), 1.0], "b": {"c": float("inf")}})
    assert json.loads(capsys.readouterr().out) == {"a": [None, 1.0], "b": {"c": None}}


def test_the_next_command_can_be_pasted(capsys):
    roles = Roles("loss, total", ["a b", "c"], ["d"], truth="audited")
    settings = Settings(direction="under", log_proxies=("c",), random_state=3)
    command = console.fit_command("my table.csv", roles, settings)
    assert command == shell(
        "proxycal", "fit", "my table.csv", "--outcome", '"loss, total"', "--proxies", "a b,c",
        "--environment", "d", "--truth", "audited", "--direction", "under", "--log-proxies", "c",
        "--seed", "3", "--out", "run",
    )  # fmt: skip
