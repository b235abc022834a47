from __future__ import annotations

import dataclasses
import json
from typing import Any

import pandas as pd
import pytest

from proxycal.errors import RolesError
from proxycal.table.roles import Roles


def test_lists_become_tuples_and_columns_keep_their_order() -> None:
    others: Any = pd.Index(["b", "a"])
    lazily: Any = (name for name in ["d", "c"])
    roles = Roles("y", others, lazily, weights="w", truth="t")
    assert roles.proxies == ("b", "a")
    assert roles.environment == ("d", "c")
    assert roles.columns == ("y", "b", "a", "d", "c", "w", "t")
    assert list(roles)[1] == ("proxies", "b")


def test_roles_are_frozen_hashable_and_comparable() -> None:
    roles = Roles("y", ["p"], ["e"])
    with pytest.raises(dataclasses.FrozenInstanceError):
        roles.outcome = "z"  # type: ignore[misc]
    assert roles == Roles("y", ("p",), ("e",))
    assert hash(roles) == hash(Roles("y", ("p",), ("e",)))


def test_json_round_trip() -> None:
    roles = Roles("y é <b>", ["p"], ["e"], weights="w", cluster="c", id="i", truth="t")
    assert Roles.from_dict(json.loads(json.dumps(roles.to_dict()))) == roles


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"proxies": ["y"]}, ["'y'", "outcome", "proxies"]),
        ({"environment": ["p"]}, ["'p'", "proxies", "environment"]),
        ({"cluster": "e"}, ["'e'", "environment", "cluster"]),
        ({"id": "c", "cluster": "c"}, ["'c'", "cluster", "id"]),
        ({"truth": "y"}, ["'y'", "outcome", "truth"]),
        ({"proxies": ["p", "p"]}, ["'p'", "twice", "proxies"]),
        ({"proxies": []}, ["proxies", "empty"]),
        ({"environment": ()}, ["environment", "empty"]),
        ({"proxies": "p"}, ["proxies", "['p']"]),
        ({"environment": "e"}, ["environment", "['e']"]),
        ({"proxies": {"p", "q"}}, ["proxies", "set", "list"]),
        ({"proxies": None}, ["proxies", "None"]),
        ({"proxies": 3}, ["proxies", "3"]),
        ({"proxies": ["p", 3]}, ["proxies", "3", "text"]),
        ({"proxies": ["p", " "]}, ["proxies", "blank"]),
        ({"outcome": ""}, ["outcome", "blank"]),
        ({"outcome": None}, ["outcome", "None"]),
        ({"weights": "  "}, ["weights", "blank"]),
        ({"cluster": 0}, ["cluster", "0", "text"]),
    ],
)
def test_what_is_inconsistent_is_refused_by_name(arguments: dict[str, Any], words: list[str]) -> None:
    given: dict[str, Any] = {"outcome": "y", "proxies": ["p"], "environment": ["e"], **arguments}
    with pytest.raises(RolesError) as caught:
        Roles(**given)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("state", "word"),
    [
        ({"outcome": "y", "proxies": ["p"]}, "environment"),
        ({"outcome": "y", "proxies": ["p"], "environment": ["e"], "weight": "w"}, "'weight'"),
        ([], "list"),
    ],
)
def test_a_damaged_state_is_refused(state: Any, word: str) -> None:
    with pytest.raises(RolesError, match=word):
        Roles.from_dict(state)
