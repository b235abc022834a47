from __future__ import annotations

from proxycal.cli import main


def test_the_command_refuses_what_it_cannot_do(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["experiment", "synthetic", "--quick"]) == 2
    assert "--out" in capsys.readouterr().err
    assert main(["experiment", "sideways", "--out", "x"]) == 2
    assert "use one of synthetic, semisynthetic" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
