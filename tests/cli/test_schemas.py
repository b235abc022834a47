"""Schemas: published as they are, and kept by settings, run folders and everything that tests print."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

import proxycal
from json_schema import broken
from proxycal.cli.schemas import names, schema_of
from proxycal.errors import SettingsError
from proxycal.settings import Settings
from proxycal.table.roles import Roles

PUBLISHED = Path(__file__).parents[2] / "docs" / "schemas"


@pytest.mark.parametrize("name", names())
def test_the_published_schema_is_that_of_the_code(name):
    # Written by scripts/write_schemas.py.
    assert json.loads((PUBLISHED / f"{name}.json").read_text(encoding="utf-8")) == schema_of(name)


def test_no_schema_is_published_that_is_gone():
    assert {path.stem for path in PUBLISHED.glob("*.json")} == set(names())


def test_an_unknown_schema_is_answered_with_the_list():
    with pytest.raises(SettingsError, match="audit, band, calibrate"):
        schema_of("nothing")


def test_a_run_folder_keeps_its_schemas(tmp_path):
    sim = proxycal.simulate(n=300, alpha=5.0, random_state=0)
    model = proxycal.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(sim.table)
    model.save(tmp_path / "run")
    for name in ("manifest", "results", "roles", "versions"):
        values = json.loads((tmp_path / "run" / f"{name}.json").read_text(encoding="utf-8"))
        assert broken(values, schema_of(f"run-{name}")) == []
    config = tomllib.loads((tmp_path / "run" / "config.toml").read_text(encoding="utf-8"))
    assert broken(config, schema_of("settings")) == []


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ({"direction": "sideways"}, "direction"),
        ({"level": 1.0}, "level"),
        ({"random_state": -1}, "random_state"),
        ({"effect": "by:"}, "effect"),
        ({"paper": {"d_z": 0}}, "d_z"),
        ({"proxies": "p"}, "proxies"),
    ],
)
def test_what_settings_refuse_their_schema_refuses(values, wrong):
    (said,) = broken({"direction": "over"} | values, schema_of("settings"))
    assert wrong in said


def test_settings_with_roles_and_levels_hold():
    roles = Roles("y", ["p"], ["e"], id="county")
    text = Settings(direction="under", effect="by:e", log_proxies=("p",)).to_toml(roles)
    assert broken(tomllib.loads(text), schema_of("settings")) == []
