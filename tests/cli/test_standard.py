"""Closed and full standard streams: one line and exit 2, never "a bug in proxycal"."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from proxycal.cli.standard import Closed, lost_output, stand_in

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")


def run(ends, *args):
    """The program in a shell that ends its command with `ends`; its exit code, output and errors."""
    command = ["sh", "-c", f'exec "$@" {ends}', "sh", sys.executable, "-m", "proxycal", *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


@needs_full
@pytest.mark.parametrize("args", [["--help"], ["simulate", "--n", "60", "--json", "--out", "sim.csv"]])
def test_a_full_output_is_one_line_and_exit_2(args, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, said = run("> /dev/full", *args)
    assert code == 2
    assert len(said.splitlines()) == 1
    assert "standard output (No space left on device)" in said
    assert "bug" not in said


def test_a_closed_output_is_one_line_and_exit_2():
    code, _, said = run(">&-", "--help")
    assert code == 2
    assert len(said.splitlines()) == 1
    assert "standard output (Bad file descriptor)" in said


@pytest.mark.parametrize("ends", ["2>&-", pytest.param("2> /dev/full", marks=needs_full)])
def test_without_a_standard_error_refusals_keep_their_exit_code_and_answers_their_output(ends):
    code, printed, _ = run(
        ends, "check", "nothing.csv", "--outcome", "y", "--proxies", "p", "--environment", "e"
    )
    assert (code, printed) == (2, "")
    code, printed, _ = run(ends, "--version")
    assert code == 0
    assert printed


def test_only_a_stream_that_cannot_be_written_is_lost_output():
    file = OSError(errno.ENOSPC, "No space left on device", "table.csv")
    for other in (file, OSError(errno.ENOENT, "No such file"), ValueError("full"), BrokenPipeError()):
        assert lost_output(other) is None


def test_what_stands_in_for_closed_streams(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    stand_in()
    out, error = sys.stdout, sys.stderr
    assert error.write("nothing")
    error.close()
    assert isinstance(out, Closed)
    with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
        out.write("answer")


def test_streams_that_are_there_stay(monkeypatch):
    mine = io.StringIO()
    monkeypatch.setattr(sys, "stdout", mine)
    stand_in()
    assert sys.stdout is mine
