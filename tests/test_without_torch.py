"""All but the networks works without torch, and what needs it says what to install.

The programs run with tests/without_torch on PYTHONPATH, whose sitecustomize.py hides torch from imports and
from look-ups of versions.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
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
    "methods.paper.networks.hidden",
    "methods.paper.networks.nets",
    "methods.paper.networks.rows",
    "methods.paper.networks.state",
    "methods.paper.networks.train",
    "methods.paper.in_pieces",
}
# One process for all of it, since most of its time goes to imports.
_PROGRAM = """
import contextlib, importlib, io, json, sys
from proxycal.cli import main
commands, modules = json.loads(sys.argv[1])
answers, failed = [], {}
for command in commands:
    said, complained = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complained):
        code = main(command)
    answers.append([code, said.getvalue(), complained.getvalue()])
for name in modules:
    try:
        importlib.import_module("proxycal." + name)
    except ModuleNotFoundError as error:
        failed[name] = error.name
print(json.dumps([answers, failed]))
"""
MAIN_JOB = [
    ["fit", "--out", "run"],
    ["calibrate", "run", "table.csv", "--out", "calibrated.csv"],
    ["refute", "run", "--repetitions", "2", "--jobs", "1"],
    ["report", "run"],
    ["experiment", "synthetic", "--quick", "--methods", "proxy-only,oracle", "--jobs", "1", "--out", "ex"],
]
NEED_TORCH = [
    ["fit", "--method", "paper", "--out", "networks"],
    ["power", "--method", "paper"],
    ["experiment", "synthetic", "--quick", "--out", "networks"],
    ["experiment", "semisynthetic", "--quick", "--methods", "exact,tedvae-treatment", "--out", "networks"],
    ["experiment", "synthetic", "--quick", "--methods", "exact", "--sanity", "--out", "networks"],
    ["bench", "speed", "--quick", "--out", "networks"],
]


@dataclass(frozen=True)
class Without:
    """What a program without torch did in a folder.

    answers : exit code, standard output and standard error of each command, of both lists in turn.
    failed : modules that could not be imported, and what they missed.
    """

    folder: Path
    answers: list[tuple[int, str, str]]
    failed: dict[str, str]


@pytest.fixture(scope="module")
def without(tmp_path_factory) -> Without:
    """Both lists of commands on a table of curved content, where networks once were tried; all imports."""
    folder = tmp_path_factory.mktemp("curved")
    world = draw_world("nonlinear", 1500, 3.0, seed=2)
    world.table().to_csv(folder / "table.csv", index=False)
    proxies, environment = ",".join(world.roles.proxies), ",".join(world.roles.environment)
    table = ["table.csv", "--outcome", "y", "--proxies", proxies, "--environment", environment]
    asked = {"fit": [*table, "--direction", "over"], "power": [*table, "--direction", "over"]}
    commands = [[name, *asked.get(name, []), *rest] for name, *rest in MAIN_JOB + NEED_TORCH]
    files = sorted(path.relative_to(PACKAGE).with_suffix("").parts for path in PACKAGE.rglob("*.py"))
    modules = [".".join(parts) for parts in files if parts[-1] != "__init__"]
    places = [str(HIDES_TORCH), str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, json.dumps([commands, modules])],
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, places))},
    )
    assert done.returncode == 0, done.stderr
    answers, failed = json.loads(done.stdout.splitlines()[-1])
    return Without(folder, answers, failed)


def test_the_main_job_needs_no_torch(without):
    """The demo needs none either: tests/test_wheel.py runs it where torch is not installed."""
    folder = without.folder
    for command, (code, _, complained) in zip(MAIN_JOB, without.answers[: len(MAIN_JOB)], strict=True):
        assert (code, complained) == (0, ""), command
    evidence = json.loads((folder / "run" / "results.json").read_text())["fit"]["evidence"]
    assert evidence["features"] == "splines of P"
    assert "torch" not in json.loads((folder / "run" / "versions.json").read_text())
    assert "torch" not in (folder / "ex" / "results.md").read_text()


def test_what_needs_torch_says_in_one_line_what_to_install(without):
    answers = without.answers[len(MAIN_JOB) :]
    for command, (code, said, complained) in zip(NEED_TORCH, answers, strict=True):
        assert (code, said) == (2, ""), command
        assert complained.startswith("error: "), command
        assert complained.count("\n") == 1, command
        assert f"needs torch: {INSTALL}, or " in complained, command
    assert not (without.folder / "networks").exists()


def test_only_networks_import_torch(without):
    assert without.failed == dict.fromkeys(sorted(NETWORKS), "torch")


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
