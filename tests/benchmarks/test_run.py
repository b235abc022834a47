"""`proxycal bench` from end to end, without fits."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from benchmarks import coverage, null, run
from hand_trials import fake_block
from proxycal.cli import main


def without_fits(monkeypatch, module):
    """Let a benchmark take its trials from `fake_block`."""
    name = module.__name__.rpartition(".")[2]
    monkeypatch.setitem(run.BENCHES, name, lambda quick: replace(module.bench(quick), work=fake_block))


def test_the_command_from_end_to_end(tmp_path, monkeypatch, capsys):
    without_fits(monkeypatch, null)
    monkeypatch.setattr(null, "WORLDS", ("t3",))
    monkeypatch.chdir(tmp_path)
    assert main(["bench", "null", "--jobs", "1"]) == 0
    text = (tmp_path / "benchmarks" / "null.md").read_text()
    assert text in capsys.readouterr().out
    assert text.startswith(
        "# No bias where there is none\n\nMade by `proxycal bench null --jobs 1` with proxycal"
    )
    assert len(pd.read_csv(tmp_path / "benchmarks" / "null.csv")) == 2

    assert main(["bench", "null", "--jobs", "1"]) == 2
    assert "--resume" in capsys.readouterr().err
    (tmp_path / "benchmarks" / "null.md").unlink()
    assert main(["bench", "null", "--jobs", "1", "--resume", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert (tmp_path / "benchmarks" / "null.md").read_text() == text

    assert main(["bench", "null", "--so-far"]) == 0
    assert "(unfinished)" in capsys.readouterr().out


def test_a_quick_run_is_marked_judges_nothing_and_starts_over(tmp_path, monkeypatch, capsys):
    without_fits(monkeypatch, coverage)
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert main(["bench", "coverage", "--quick", "--jobs", "1"]) == 0
    out = capsys.readouterr().out
    assert "QUICK RUN" in out.splitlines()[0]
    assert "reached" not in out
    assert sorted(path.name for path in (tmp_path / "benchmarks").iterdir()) == [
        "coverage-quick.csv",
        "coverage-quick.md",
    ]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["bench", "beauty"], "accuracy, after, counts, counts-paths, coverage, drift"),
        (["bench", "null", "--so-far"], "no finished cell"),
        (["bench", "null", "--jobs", "0"], "jobs=0"),
        (["bench", "speed", "--so-far"], "keeps no unfinished cells"),
    ],
)
def test_bad_requests_are_one_line(args, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(args) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
