"""The bill of materials names what is installed."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from pathlib import Path

from packaging.utils import canonicalize_name

import proxycal

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("sbom", ROOT / "scripts" / "sbom.py")
assert _spec is not None
assert _spec.loader is not None
sbom = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sbom)


def test_every_dependency_is_there_once_with_its_version():
    bill = sbom.bill()
    parts = {part["name"]: part for part in bill["components"]}
    assert len(parts) == len(bill["components"])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = {re.match(r"[\w.-]+", text)[0] for text in project["dependencies"]}
    assert {name for name in asked if parts[name]["scope"] == "required"} == asked
    assert parts["duckdb"]["scope"] == "optional"
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    pins = dict(line.split("==") for line in text.splitlines() if "==" in line and not line.startswith("#"))
    versions = {canonicalize_name(name): version for name, version in pins.items()}
    assert {name: part["version"] for name, part in parts.items()}.items() <= versions.items()
    assert bill["metadata"]["component"]["version"] == proxycal.__version__
    assert bill["dependencies"][0]["dependsOn"] == [part["purl"] for part in parts.values()]


def test_it_is_the_same_every_time():
    assert json.dumps(sbom.bill()) == json.dumps(sbom.bill())
