from __future__ import annotations

import json

import pytest

from proxycal.app.request import Request, roles_from, settings_from
from proxycal.errors import RolesError, SettingsError
from proxycal.settings import Settings
from proxycal.table.roles import Roles
from proxycal.table.surface import speaking

CHOSEN = {"y": "outcome", "a": "proxies", "b": "proxies", "e": "environment", "w": "weights", "x": ""}


def test_roles_are_those_that_were_chosen():
    assert roles_from(CHOSEN) == Roles("y", ["a", "b"], ["e"], weights="w")


@pytest.mark.parametrize(("absent", "remedy"), [("y", "outcome"), ("e", "environment")])
def test_a_role_that_nobody_has_is_asked_for(absent, remedy):
    with pytest.raises(RolesError, match=f"role {remedy}"):
        roles_from({**CHOSEN, absent: ""})


def test_what_the_browser_makes_up_is_no_role():
    assert roles_from({**CHOSEN, "x": "../../etc/passwd"}) == roles_from(CHOSEN)


def test_settings_are_those_of_the_fields():
    fields = {
        "direction": "under",
        "method": "paper",
        "level": 99.9,
        "seed": 4,
        "missing": "drop",
        "effect": "linear",
    }
    wanted = Settings(
        direction="under", method="paper", level=0.999, random_state=4, missing="drop", effect="linear"
    )
    assert settings_from(fields) == wanted


@pytest.mark.parametrize(
    "fields",
    [
        {"level": None},
        {"seed": None},
        {"seed": -1},
        {"seed": 1.5},
        {"level": 0},
        {"level": 100},
        {"method": "magic"},
    ],
)
def test_what_is_not_allowed_is_said(fields):
    with pytest.raises(SettingsError):
        settings_from({"direction": "over", **fields})


@pytest.mark.parametrize("nothing", [{}, {"direction": None}])
def test_a_direction_that_was_not_chosen_is_asked_for(nothing):
    with speaking("app"), pytest.raises(SettingsError, match="choose “too high” or “too low” in step 2"):
        settings_from({"level": 90, **nothing})


def test_a_request_survives_its_file():
    request = Request(roles_from(CHOSEN), settings_from({"direction": "over", "level": 90}), 5)
    assert Request.from_dict(json.loads(json.dumps(request.to_dict()))) == request
