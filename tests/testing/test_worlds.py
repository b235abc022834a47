"""Each world is what its name says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kurtosis, skew

import proxycal as pc
from proxycal.errors import SettingsError
from proxycal.testing.worlds import KINDS, draw_world


def residual(world):
    X = np.column_stack([np.ones(len(world.y)), world.P, world.E])
    return world.y_true - X @ np.linalg.lstsq(X, world.y_true, rcond=None)[0]


@pytest.mark.parametrize("kind", KINDS)
def test_the_bias_is_alpha_where_a_is_one(kind):
    world = draw_world(kind, 2000, 3.0, seed=5)
    np.testing.assert_allclose(world.y - world.y_true, world.alpha * world.a)
    assert 0.2 < world.a.mean() < 0.8
    null = draw_world(kind, 2000, 0.0, seed=5)
    np.testing.assert_array_equal(null.y, null.y_true)
    np.testing.assert_array_equal(null.y_true, world.y_true)


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_holds_what_an_analyst_gets(kind):
    world = draw_world(kind, 300, 3.0, seed=5)
    table = world.table()
    assert set(world.roles.columns) == set(table.columns)
    np.testing.assert_array_equal(table["y"], world.y)
    np.testing.assert_array_equal(table[list(world.roles.proxies)], world.P)
    assert not [
        one for one in pc.audit(table, world.roles) if not one.ok and one.topic not in ("atom", "cluster")
    ]
    assert ("cluster" in table, "level" in table) == (kind == "clusters", kind == "alpha by level")


def test_the_environment_drives_the_bias():
    world = draw_world("gaussian", 20_000, 3.0, seed=5)
    apart = world.E[world.a == 1].mean(axis=0) - world.E[world.a == 0].mean(axis=0)
    assert np.abs(apart).max() > 0.2


def test_alpha_is_in_residual_sd():
    world = draw_world("gaussian", 20_000, 3.0, seed=5)
    assert world.alpha[0] == pytest.approx(3.0 * residual(world).std(), rel=0.01)


def test_levels_go_from_one_to_five():
    world = draw_world("alpha by level", 4000, 1.0, seed=5)
    sizes = [world.alpha[world.level == code].mean() / world.residual_sd for code in range(4)]
    np.testing.assert_allclose(sizes, [1.0, 7 / 3, 11 / 3, 5.0])
    table = world.table()
    np.testing.assert_array_equal(table["level"] == "b", world.level == 1)


def test_shapes_of_the_noise():
    draws = {kind: draw_world(kind, 20_000, 0.0, seed=5) for kind in KINDS}
    left = {kind: residual(world) for kind, world in draws.items()}
    assert abs(skew(left["gaussian"])) < 0.1
    assert skew(left["exponential"]) > 1.0
    assert skew(left["poisson"]) > 0.25
    assert kurtosis(left["t3"]) > 2.0
    assert kurtosis(left["two-humped"]) < -0.5
    assert np.mean(draws["zero-inflated"].y == 0.0) == pytest.approx(0.4, abs=0.05)
    wild = draws["heteroscedastic"]
    assert np.corrcoef(wild.E[:, 0], np.abs(left["heteroscedastic"]))[0, 1] > 0.2


def test_clusters_share_their_intercept():
    world = draw_world("clusters", 20_000, 0.0, seed=5)
    left, sizes = residual(world), np.bincount(world.cluster)
    means = np.bincount(world.cluster, left)[sizes > 0] / sizes[sizes > 0]
    assert means.std() == pytest.approx(0.4, abs=0.1)


def test_the_same_seed_gives_the_same_bytes_and_another_does_not():
    one, again, other = (draw_world("t3", 100, 3.0, seed) for seed in (5, 5, 6))
    assert one.table().equals(again.table())
    assert not one.table().equals(other.table())


def test_an_unknown_world_is_refused_with_the_list():
    with pytest.raises(SettingsError, match="two-humped"):
        draw_world("flat", 100, 3.0, seed=5)
