from __future__ import annotations

import inspect

import pytest

import proxycal
from proxycal import errors
from proxycal.cli import main
from proxycal.errors import ProxycalError, ProxycalWarning

RAISED = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if kind.__module__ == errors.__name__ and issubclass(kind, Exception)
]


def test_every_error_and_warning_has_one_root():
    roots = {ProxycalError, ProxycalWarning}
    assert len(RAISED) > len(roots)
    for kind in RAISED:
        assert kind in roots or issubclass(kind, (ProxycalError, ProxycalWarning)), kind
    assert issubclass(ProxycalWarning, UserWarning)
    assert not issubclass(ProxycalWarning, ProxycalError)


@pytest.mark.parametrize("kind", RAISED, ids=lambda kind: kind.__name__)
def test_an_error_tells_who_raises_it_what_to_say(kind):
    assert kind.__doc__
    assert "The message" in kind.__doc__ or kind in (ProxycalError, ProxycalWarning)


def test_the_root_is_exported_and_one_line_on_the_command_line(capsys, tmp_path):
    assert proxycal.ProxycalError is ProxycalError
    assert (
        main(
            ["check", str(tmp_path / "nowhere.csv"), "--outcome", "y", "--proxies", "p", "--environment", "e"]
        )
        == 2
    )
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert said.count("\n") == 1
