from __future__ import annotations

import pytest

from proxycal.cli import main


def test_the_command_refuses_what_it_cannot_do(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["experiment", "synthetic", "--quick"]) == 2
    assert "--out" in capsys.readouterr().err
    assert main(["experiment", "sideways", "--out", "x"]) == 2
    assert "use one of synthetic, semisynthetic" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_options_of_other_studies_are_refused(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["experiment", "nhanes", "--stand-in", "--out", "x"]) == 2
    assert "apply to nhanes" in capsys.readouterr().err
    assert main(["experiment", "nhanes", "--quick"]) == 2
    assert "--out" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["nhanes", "--methods", "exact"], "do not apply to nhanes"),
        (["case-study", "--simulated", "--resume"], "do not apply to case-study"),
        (["case-study"], "--simulated"),
        (["polls", "--resume"], "do not apply to polls"),
        (["polls", "--methods", "exact"], "do not apply to polls"),
        (["polls", "--year", "2020"], "for case-study, not for polls"),
        (["polls", "--quick"], "--out is required"),
        (["synthetic", "--year", "2020"], "for case-study, not for synthetic"),
        (["synthetic", "--simulated"], "for case-study, not for synthetic"),
        (["synthetic", "--stand-in"], "semisynthetic"),
        (["semisynthetic", "--methods", "magic"], "'magic' is not known"),
        (["nhanes", "--quick"], "--out is required"),
    ],
)
def test_options_that_do_not_apply_are_refused_before_anything_is_written(
    options, says, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    out = [] if "--quick" in options else ["--out", "x"]
    assert main(["experiment", *options, *out]) == 2
    assert says in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
