"""All but the networks works without torch, and what needs it says what to install.

The programs run with tests/without_torch on PYTHONPATH, whose sitecustomize.py hides torch from imports and
from look-ups of versions.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import proxycal
from proxycal import ProxyCalibrator, Roles, load
from proxycal.errors import UnavailableError
from proxycal.store import versions
from proxycal.testing.worlds import draw_world

HIDES_TORCH = Path(__file__).parent / "without_torch"
PACKAGE = Path(proxycal.__file__).parent
INSTALL = "pip install 'proxycal[paper]'"
# All that may import torch when it is imported.
NETWORKS = {
    "methods.paper.score",
    "methods.paper.content",
    "studies.tedvae",
    "methods.paper.fit",
    "methods.paper.networks.batches",
    "methods.paper.networks.device",
    "methods.paper.networks.gaussian",
    "methods.paper.networks.nets",
    "methods.paper.networks.rows",
    "methods.paper.networks.state",
    "methods.paper.networks.train",
    "methods.paper.in_pieces",
}
_RUN_COMMANDS = """
import contextlib, io, json, sys
from proxycal.cli import main
answers = []
for command in json.loads(sys.argv[1]):
    said, complained = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complained):
        code = main(command)
    answers.append([code, said.getvalue(), complained.getvalue()])
print(json.dumps(answers))
"""
_IMPORT_ALL = """
import importlib, json, sys
failed = {}
for name in json.loads(sys.argv[1]):
    try:
        importlib.import_module("proxycal." + name)
    except ModuleNotFoundError as error:
        failed[name] = error.name
print(json.dumps(failed))
"""


def without_torch(code: str, argument: list[object], cwd: Path) -> object:
    """What a program prints, as JSON, where torch is not installed."""
    places = [str(HIDES_TORCH), str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(argument)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, places))},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def run_commands(commands: list[list[str]], cwd: Path) -> list[tuple[int, str, str]]:
    """Exit code, standard output and standard error of each command line."""
    answers = without_torch(_RUN_COMMANDS, commands, cwd)
    return [(code, said, complained) for code, said, complained in answers]


@pytest.fixture(scope="module")
def curved(tmp_path_factory):
    """A folder with a table of curved content, where networks once were tried, and the options of its fit."""
    folder = tmp_path_factory.mktemp("curved")
    world = draw_world("nonlinear", 1500, 3.0, seed=2)
    world.table().to_csv(folder / "table.csv", index=False)
    roles = world.roles
    columns = ["--proxies", ",".join(roles.proxies), "--environment", ",".join(roles.environment)]
    return folder, ["fit", "table.csv", "--outcome", "y", *columns, "--direction", "over"]


def test_the_main_job_needs_no_torch(curved):
    """The demo needs none either: tests/test_wheel.py runs it where torch is not installed."""
    folder, fit = curved
    commands = [
        [*fit, "--out", "run"],
        ["calibrate", "run", "table.csv", "--out", "calibrated.csv"],
        ["refute", "run", "--repetitions", "2", "--jobs", "1"],
        ["report", "run"],
        [
            "experiment",
            "synthetic",
            "--quick",
            "--methods",
            "proxy-only,oracle",
            "--jobs",
            "1",
            "--out",
            "ex",
        ],
    ]
    answers = run_commands(commands, folder)
    for command, (code, _, complained) in zip(commands, answers, strict=True):
        assert (code, complained) == (0, ""), command
    evidence = json.loads((folder / "run" / "results.json").read_text())["fit"]["evidence"]
    assert evidence["features"] == "splines of P"
    assert "torch" not in json.loads((folder / "run" / "versions.json").read_text())
    assert "torch" not in (folder / "ex" / "results.md").read_text()


def test_what_needs_torch_says_in_one_line_what_to_install(curved):
    folder, fit = curved
    commands = [
        [*fit, "--method", "paper", "--out", "networks"],
        ["power", *fit[1:], "--method", "paper"],
        ["experiment", "synthetic", "--quick", "--out", "networks"],
        [
            "experiment",
            "semisynthetic",
            "--quick",
            "--methods",
            "exact,tedvae-treatment",
            "--out",
            "networks",
        ],
        ["experiment", "synthetic", "--quick", "--methods", "exact", "--sanity", "--out", "networks"],
        ["bench", "speed", "--quick", "--out", "networks"],
    ]
    for command, (code, said, complained) in zip(commands, run_commands(commands, folder), strict=True):
        assert (code, said) == (2, ""), command
        assert complained.startswith("error: "), command
        assert complained.count("\n") == 1, command
        assert f"needs torch: {INSTALL}, or " in complained, command
    assert not (folder / "networks").exists()


def test_only_networks_import_torch(tmp_path):
    files = sorted(path.relative_to(PACKAGE).with_suffix("").parts for path in PACKAGE.rglob("*.py"))
    names = [".".join(parts) for parts in files if parts[-1] != "__init__"]
    assert without_torch(_IMPORT_ALL, names, tmp_path) == dict.fromkeys(sorted(NETWORKS), "torch")


def test_a_saved_run_of_the_paper_says_what_to_install(tmp_path, monkeypatch):
    model = ProxyCalibrator(Roles("y", ["p_1", "p_2"], ["e_1", "e_2"]), direction="over", method="moments")
    model.fit(draw_world("gaussian", 200, 3.0, seed=1).table())
    settings = replace(model.result_.settings, method="paper")
    model.result_ = replace(model.result_, settings=settings)
    model.save(tmp_path / "run")
    monkeypatch.setattr("proxycal.extras.find_spec", lambda name: None)
    with pytest.raises(UnavailableError, match="method='paper' needs torch"):
        load(tmp_path / "run")


def test_versions_are_those_of_what_the_method_used():
    assert "torch" in versions("paper")
    for method in ("exact", "moments"):
        assert set(versions(method)) == {"python", "proxycal", "numpy", "scipy", "scikit-learn", "pandas"}
