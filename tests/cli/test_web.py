from __future__ import annotations

import sys

import pytest

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


@pytest.mark.parametrize(
    ("options", "served"), [([], (8000, True)), (["--port", "0", "--no-open"], (0, False))]
)
def test_the_page_is_served_as_asked(options, served, monkeypatch):
    asked = []
    monkeypatch.setattr("proxycal.app.serve.serve", lambda *how: asked.append(how))
    assert main(["app", *options]) == 0
    assert asked == [served]
