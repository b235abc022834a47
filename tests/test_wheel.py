"""The wheel as a user gets it: installed into an empty environment without torch, it runs the demo."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TITLE = "Proxy-Guided Measurement Calibration"

pytestmark = pytest.mark.slow  # builds and installs; .ci/run runs it by `make test-wheel`


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # nothing of this clone
    env |= variables
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory) -> Path:
    """The source archive and the wheel built from it: files left over in the clone do not count."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", out, ROOT, cwd=out)
    return out


@pytest.fixture(scope="module")
def wheel(dist) -> Path:
    (built,) = dist.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory) -> Path:
    """The interpreter of an environment that holds the wheel and what it asks for."""
    home = tmp_path_factory.mktemp("empty")
    venv.create(home, with_pip=True)
    found = home / "bin" / "python"
    run(found, "-m", "pip", "install", "-qq", "--no-compile", "-c", ROOT / "constraints.txt", wheel, cwd=home)
    return found


def test_a_package_index_would_take_them(dist):
    files = sorted(dist.iterdir())
    assert [file.name.rpartition(".")[2] for file in files] == ["whl", "gz"]
    said = run(sys.executable, "-m", "twine", "check", "--strict", *files, cwd=dist)
    assert said.count("PASSED") == 2


def test_two_builds_of_the_wheel_are_one(tmp_path):
    """Of the same files at other times, whatever else the clone holds."""
    hashes = set()
    for number in range(2):
        copy = tmp_path / str(number)
        shutil.copytree(
            ROOT,
            copy / "clone",
            ignore=shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "tests", "docs"),
        )
        for path in copy.rglob("*"):
            os.utime(path, (1e9 + number * 1e6,) * 2)
        command = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", copy / "dist")
        run(*command, copy / "clone", cwd=copy, SOURCE_DATE_EPOCH="1700000000")
        (built,) = (copy / "dist").glob("*.whl")
        hashes.add(hashlib.sha256(built.read_bytes()).hexdigest())
    assert len(hashes) == 1


def test_the_wheel_holds_its_data_and_names_the_paper(wheel):
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        text = files.read(metadata).decode()
    for wanted in ("proxycal/py.typed", "proxycal/report/templates/report.html", "proxycal/app/static/"):
        assert any(name.startswith(wanted) for name in names), wanted
    assert all(name.startswith("proxycal") for name in names)
    summary = next(line for line in text.splitlines() if line.startswith("Summary:"))
    assert TITLE in summary
    assert 'torch>=2.4; extra == "paper"' in text


def test_the_demo_runs_without_torch(python, tmp_path):
    packages = json.loads(run(python, "-m", "pip", "list", "--format", "json", cwd=tmp_path))
    names = {package["name"].lower() for package in packages}
    assert "proxycal" in names
    assert not {name for name in names if name.startswith(("torch", "nvidia", "triton"))}
    said = run(python.parent / "proxycal", "demo", "--out", "demo", cwd=tmp_path)
    assert "bias found" in said
    assert "size of the bias             20.0" in said
    assert TITLE in (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
