"""The program as a whole: help, exit codes and streams."""

from __future__ import annotations

import subprocess
import sys
import warnings

import pytest

import proxycal
from cli.shell import ASKED, make_table
from proxycal.cli import main
from proxycal.errors import ProxycalWarning


@pytest.mark.parametrize(
    "command",
    [
        "demo",
        "check",
        "fit",
        "calibrate",
        "report",
        "refute",
        "power",
        "simulate",
        "experiment",
        "bench",
        "app",
    ],
)
def test_every_command_has_help(command, capsys):
    assert main([command, "--help"]) == 0
    assert f"proxycal {command}" in capsys.readouterr().out


def test_quiet_says_nothing(capsys, here, fitted):
    capsys.readouterr()
    assert main(["report", str(fitted), "--out", "page.html", "--quiet"]) == 0
    assert main(["simulate", "--n", "50", "--out", "sim.csv", "--quiet"]) == 0
    assert main(["check", "table.csv", *ASKED, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_quiet_says_nothing_of_how_a_file_was_read_and_keeps_warnings(capsys, here):
    make_table().assign(loss=lambda table: table["loss"].map("${:,.3f}".format)).to_csv("t.csv", index=False)
    fit = ["fit", "t.csv", *ASKED, "--config", "small.toml"]
    assert main([*fit, "--out", "run"]) == 0
    assert "understood: " in capsys.readouterr().err
    assert main([*fit, "--out", "again", "--quiet"]) == 0
    assert "understood: " not in capsys.readouterr().err
    assert main([*fit, "--out", "-", "--quiet"]) == 2
    assert "'-' is standard output" in capsys.readouterr().err
    assert not (here / "-").exists()


def test_a_warning_names_options_as_the_shell_has_them(capsys, monkeypatch):
    def reading(*_args):
        warnings.warn("fit with missing='impute'", ProxycalWarning, stacklevel=2)
        return make_table()

    monkeypatch.setattr("proxycal.cli.console.read", reading)
    assert main(["check", "table.csv", *ASKED, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "warning: fit with --missing impute\n")


def test_a_defect_is_one_line_and_exit_1(capsys, here, monkeypatch):
    def broken(*_args, **_kwargs):
        raise RuntimeError("the\nsky fell")

    monkeypatch.setattr("proxycal.fitting.fit_files", broken)
    assert main(["fit", "table.csv", *ASKED, "--out", "run"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "unexpected RuntimeError: the sky fell" in err
    assert "PROXYCAL_DEBUG=1" in err

    monkeypatch.setenv("PROXYCAL_DEBUG", "1")
    assert main(["fit", "table.csv", *ASKED, "--out", "run"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_ctrl_c_is_exit_130_without_a_traceback(capsys, here, monkeypatch):
    def interrupted(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("proxycal.fitting.fit_files", interrupted)
    assert main(["fit", "table.csv", *ASKED, "--out", "run"]) == 130
    err = capsys.readouterr().err
    assert err == "error: interrupted; no partial files were left behind\n"


def test_no_memory_is_said_and_no_defect(capsys, here, monkeypatch):
    def exhausted(*_args, **_kwargs):
        raise MemoryError

    monkeypatch.setattr("proxycal.fitting.fit_files", exhausted)
    assert main(["fit", "table.csv", *ASKED, "--out", "run"]) == 2
    assert capsys.readouterr().err.startswith("error: out of memory while working: ")


def test_a_terminal_obeys_nothing_that_stands_in_a_table(capsys, here):
    name = "loss\x1b[2J\u202e"
    (here / "t.csv").write_text((here / "table.csv").read_text().replace("loss", name, 1))
    asked = ["--outcome", name, "--proxies", "p_1,p_2,p_3", "--environment", "income,hazard"]
    for more in ([], ["--json"], ["--missing", "\x1b]0;owned\x07"]):
        main(["check", "t.csv", *asked, *more])
        out, err = capsys.readouterr()
        assert not {"\x1b", "\u202e", "\x07"} & set(out + err)


def test_python_dash_m_is_the_same_program(here):
    def run(*args):
        return subprocess.run(
            [sys.executable, "-m", "proxycal", *args], capture_output=True, text=True, cwd=here
        )

    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"proxycal {proxycal.__version__}\n", "")
    done = run("fit", "nope.csv", *ASKED, "--out", "run")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: 'nope.csv'")


def test_help_loads_neither_torch_nor_pandas():
    code = (
        "import sys, proxycal.cli as cli; cli.main(['fit', '--help']); "
        "print({'torch', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
