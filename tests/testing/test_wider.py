from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.special import expit

from proxycal.errors import SettingsError
from proxycal.testing import wider_world, wider_worlds

NAMES = [world.name for world in wider_worlds()]
# A world whose biased rows are drawn by cluster has a hundred draws or so, the others as many as rows.
SHARE_SDS = 4.5


def test_there_are_enough_worlds_of_every_kind():
    worlds = wider_worlds()
    assert len(worlds) >= 80
    assert len({world.name for world in worlds}) == len(worlds)
    assert sum(not world.has_bias for world in worlds) >= 40
    assert sum(world.findable for world in worlds) >= 40
    assert {world.n for world in worlds} >= {100, 200, 500, 1000, 2000, 5000}
    assert {world.direction for world in worlds} == {"over", "under"}
    for family in {world.family for world in worlds}:
        assert wider_worlds(family)
    # Names become the names of files.
    assert all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 .,=-]*", world.name) for world in worlds)


def test_what_may_be_missed_and_what_nobody_can_tell():
    hard = {world.name for world in wider_worlds() if world.hard}
    assert {"y7", "share 0.01", "30 columns", "100 rows", "undeclared clusters", "AR errors"} <= hard
    undecidable = {world.name for world in wider_worlds() if world.undecidable}
    assert {"unseen cause, no bias", "everybody, linear in E", "gate by content"} <= undecidable
    assert not any(world.findable for world in wider_worlds() if world.hard or world.undecidable)


@pytest.mark.parametrize("name", NAMES)
def test_a_world_is_as_it_says(name):
    world = wider_world(name)
    drawn = world.draw(seed=3)
    y = drawn.y
    assert drawn.table.shape[0] == len(y) == len(drawn.a) == len(drawn.bias) == len(drawn.y_true) == world.n
    assert set(drawn.roles.columns) <= set(drawn.table.columns)
    assert drawn.direction == world.direction
    assert not drawn.table.isna().any().any()
    assert drawn.residual_sd > 0.0
    assert not drawn.bias[~drawn.a].any()
    np.testing.assert_array_equal(y[~drawn.a], drawn.y_true[~drawn.a])
    if not world.has_bias:
        np.testing.assert_array_equal(y, drawn.y_true)
        assert not drawn.a.any()
        assert drawn.alpha == 0.0
        return
    sign = 1.0 if world.direction == "over" else -1.0
    assert sign * drawn.bias[drawn.a].mean() > 0.0
    # The mean of sizes that vary has a standard error; sizes that content drives are larger where it is high.
    assert drawn.alpha / drawn.residual_sd == pytest.approx(world.size_sd, rel=0.2)
    can = drawn.a[drawn.y_true != 0.0] if world.family == "spikes at zero" else drawn.a
    draws = len(drawn.table) / 10 if name == "whole clusters" else len(can)
    assert abs(can.mean() - world.share) < SHARE_SDS * np.sqrt(world.share * (1 - world.share) / draws) + 0.02


@pytest.mark.parametrize("name", ["y3", "gamma sizes, cv 1.0", "20 levels", "heaping", "unequal clusters"])
def test_the_same_seed_gives_the_same_table(name):
    world = wider_world(name)
    first, again, other = world.draw(5, 300), world.draw(5, 300), world.draw(6, 300)
    assert first.table.equals(again.table)
    assert not first.table.equals(other.table)
    assert len(first.table) == 300


def test_a_world_and_its_twin_have_the_same_units():
    biased, clean = wider_world("5 points").draw(1), wider_world("5 points, no bias").draw(1)
    columns = ["p_1", "p_2", "p_3", "e_1", "e_2"]
    assert biased.table[columns].equals(clean.table[columns])
    np.testing.assert_array_equal(biased.y_true, clean.y)


def test_the_reproducers_are_the_published_lines():
    """The seven lines as they are written down: one stream, seed 0, 2,000 rows."""
    r = np.random.default_rng(0)
    n = 2000
    e = r.normal(size=(n, 2))
    z = 0.5 * e + 0.8 * r.normal(size=(n, 2))
    p = z @ [[1, 0.3, 0.8], [0.2, 1, -0.5]] + 0.7 * r.normal(size=(n, 3))
    t = z @ [1.5, 1.0] + r.normal(size=n)
    logit = -0.8 + 1.2 * e[:, 0] - 0.7 * e[:, 1]
    a = r.random(n) < expit(logit)
    y1 = t + a * r.gamma(11, 0.58, n)
    y2 = t + 3.8 * (r.random(n) < expit(logit + z @ [0.8, 0.55]))
    u = np.repeat(np.arange(200), 10)
    y3 = t + 1.5 * r.normal(size=200)[u] + 3.8 * a
    y4 = t + 2 * (e[:, 0] > 0.5)
    y5 = t + 0.5 * e[:, 0] * (z @ [1.5, 1.0])
    y6 = t + (r.exponential(1, n) - 1) * np.exp(0.7 * e[:, 0])
    whole = np.round(50 + 4 * t)
    y7 = np.where(a, 10 * np.floor(whole / 10), whole)
    for number, y in enumerate((y1, y2, y3, y4, y5, y6, y7), start=1):
        drawn = wider_world(f"y{number}").draw(0)
        np.testing.assert_allclose(drawn.y, y, rtol=1e-12)
        np.testing.assert_allclose(drawn.table[["p_1", "p_2", "p_3"]], p, rtol=1e-12)
    assert (wider_world("y3").draw(0).table["cluster"] == u).all()
    assert wider_world("y7").direction == "under"


def test_an_unknown_name_is_refused():
    with pytest.raises(SettingsError, match=r"wider_worlds\(\) lists"):
        wider_world("gamma")
    with pytest.raises(SettingsError, match="use one of"):
        wider_worlds("gamma")
