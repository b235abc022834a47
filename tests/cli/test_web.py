from __future__ import annotations

import sys

from proxycal.cli import main


def test_an_impossible_port_is_one_message(capsys):
    assert main(["app", "--port", "99999", "--no-open"]) == 2
    assert "--port" in capsys.readouterr().err


def test_without_the_extra_it_says_what_to_install(monkeypatch, capsys):
    for name in [name for name in sys.modules if name.startswith("proxycal.app.serve")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["app"]) == 2
    assert "pip install 'proxycal[app]'" in capsys.readouterr().err
