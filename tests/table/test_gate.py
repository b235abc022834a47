"""The gate is open where a fit is possible, and nowhere else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from proxycal.errors import TableError
from proxycal.settings import Settings
from proxycal.table.encode import Encoder
from proxycal.table.gate import gate
from proxycal.table.roles import Roles

ROLES = Roles("y", ["p", "q"], ["e"], weights="w", counts="c")


def made(**columns) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.normal(size=60) for name in ("y", "p", "q", "e")})
    return table.assign(w=rng.uniform(1.0, 2.0, 60), c=1).assign(**columns)


def holes(*rows: int) -> np.ndarray:
    column = np.arange(60.0) ** 2
    column[list(rows)] = np.nan
    return column


@pytest.mark.parametrize(
    ("columns", "asked", "topics"),
    [
        ({"p": np.where(np.arange(60) == 7, np.inf, np.arange(60.0))}, {}, ["infinite"]),
        ({"y": 1.0}, {}, ["constant"]),
        ({"y": ["a", "b"] * 30}, {}, ["numeric"]),
        ({"w": np.r_[0.0, np.ones(59)]}, {}, ["weights"]),
        ({"c": np.r_[0.5, np.ones(59)]}, {}, ["counts"]),
        ({"w": holes(3) + 1.0}, {}, ["missing"]),
        ({"c": holes(3) + 1.0}, {}, ["missing"]),
        ({"y": np.arange(60.0) - 5.0}, {"scale": "log"}, ["negative"]),
        ({"y": holes(3)}, {"missing": "impute"}, ["refused"]),
        ({"p": 1.0, "q": 2.0}, {}, ["refused"]),
        ({"y": holes(*range(59))}, {}, ["constant"]),
    ],
)
def test_what_a_fit_refuses_must_be_fixed(columns, asked, topics):
    table, settings = made(**columns), Settings(direction="over", **asked)
    found = gate(table, ROLES, settings)
    assert not found.open
    assert [finding.topic for finding in found.must_fix] == topics
    assert all(finding.must_fix for finding in found.must_fix)
    with pytest.raises(TableError):
        Encoder.fit(table, ROLES, settings.missing, settings.scale)


@pytest.mark.parametrize(
    ("columns", "asked", "missing"),
    [
        ({}, {}, ["raise"]),
        ({"p": holes(3), "e": holes(4)}, {}, ["drop", "impute"]),
        ({"y": holes(3)}, {}, ["drop"]),
        ({"p": holes(*range(59))}, {}, ["impute"]),
        ({"p": holes(3, 9, 12, 20)}, {"missing": "impute"}, ["impute"]),
        ({"q": 2.0}, {}, ["raise"]),
    ],
)
def test_what_a_fit_takes_is_at_most_looked_at(columns, asked, missing):
    table = made(**columns)
    found = gate(table, ROLES, Settings(direction="over", **asked))
    assert found.open
    assert list(found.missing) == missing
    assert bool(found.look_at) == bool(columns)
    assert not any(finding.must_fix for finding in (*found.look_at, *found.fine))
    for way in found.ways:
        Encoder.fit(table, ROLES, way.missing)
