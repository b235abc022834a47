"""`proxycal bench` finds the benchmarks of a clone, and says where they are where there is none."""

from __future__ import annotations

import os
import sys

import pytest

from proxycal.cli import bench, main
from proxycal.errors import UnavailableError


def test_without_a_clone_one_line_says_where_they_are(tmp_path, monkeypatch, capsys):
    package = tmp_path / "lib" / "site-packages" / "proxycal" / "__init__.py"
    monkeypatch.setattr("proxycal.__file__", str(package))
    assert main(["bench", "null", "--quick"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "from a clone" in err
    assert "benchmarks/" in err


def test_a_folder_of_results_alone_is_no_clone(tmp_path):
    (tmp_path / "benchmarks").mkdir()
    with pytest.raises(UnavailableError):
        bench.find_benchmarks(tmp_path)


def test_a_clone_is_found_by_this_process_and_its_children(tmp_path, monkeypatch):
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "run.py").touch()
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    for _ in range(2):
        bench.find_benchmarks(tmp_path)
    assert sys.path.count(str(tmp_path)) == 1
    assert os.environ["PYTHONPATH"].split(os.pathsep) == [str(tmp_path), "elsewhere"]
