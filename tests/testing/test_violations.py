"""Violated assumptions: each table is changed as its name says."""

from __future__ import annotations

import numpy as np
import pytest

from proxycal.errors import SettingsError
from proxycal.testing.violations import draw_violation, latent_world


def test_shuffled_proxies_are_the_same_values_without_the_outcome():
    world, table = draw_violation("useless proxies", 300, 1)
    np.testing.assert_array_equal(np.sort(table["p_1"]), np.sort(world.P[:, 0]))
    assert abs(np.corrcoef(table["p_1"], world.y_true)[0, 1]) < 0.2
    np.testing.assert_array_equal(table["y"], world.y)


def test_an_unknown_violation_is_refused_with_the_list():
    with pytest.raises(SettingsError, match=r"leak 0\.5"):
        draw_violation("bad luck", 100, 0)


def test_a_leak_into_all_moves_the_proxies_as_content_would():
    world, along = latent_world(4000, 3.0, seed=1)
    # The proxies are linear in the latents: moved so, their best guess of the outcome moves by one.
    X = np.column_stack([np.ones(4000), world.P])
    slopes = np.linalg.lstsq(X, world.y_true, rcond=None)[0][1:]
    assert slopes @ along == pytest.approx(1.0, abs=0.1)
    _, table = draw_violation("leak into all", 300, 1)
    small, along = latent_world(300, 3.0, seed=1)
    np.testing.assert_allclose(table["p_3"] - small.P[:, 2], along[2] * small.alpha * small.a)


def test_without_overlap_biased_and_unbiased_hardly_share_content():
    for name, most in (("no overlap", 0.02), ("little overlap", 0.3)):
        world, _ = draw_violation(name, 2000, 1)
        biased = world.a == 1.0
        low, high = np.quantile(world.y_true[~biased], [0.02, 0.98])
        assert ((world.y_true[biased] > low) & (world.y_true[biased] < high)).mean() <= most
