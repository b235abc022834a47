"""Tables drawn without a bias: drawn as they must be, and read as they must be."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from proxycal.model import ProxyCalibrator
from proxycal.questions.refute.null import fit_null, p_value, read
from proxycal.settings import Settings
from proxycal.testing.worlds import draw_world


def test_draws_without_bias_have_the_shape_of_the_best_model():
    world = draw_world("heteroscedastic", 800, 0.0, seed=2)
    model = ProxyCalibrator(world.roles, direction="over").fit(world.table())
    null = fit_null(model.result_.training, model.result_.settings, claimed=False)
    draws = np.array([null.draw(np.random.default_rng(i)) for i in range(40)])
    left = world.y - draws.mean(axis=0)
    assert abs(left.mean()) < 0.1
    # sd by environment: rows that are noisy in truth are noisy in the draws.
    truth = np.exp(0.4 * world.E[:, 0] - 0.3 * world.E[:, 1])
    assert np.corrcoef(draws.std(axis=0), truth)[0, 1] > 0.8


def test_draws_with_clusters_share_within_them_and_under_mirrors_over():
    world = draw_world("clusters", 600, 0.0, seed=0)
    arrays = ProxyCalibrator(world.roles, direction="over").fit(world.table()).result_.training
    null = fit_null(arrays, Settings(direction="over"), claimed=False)
    assert 0.2 < null.cluster_sd < 0.7
    mirrored = fit_null(replace(arrays, y=-arrays.y), Settings(direction="under"), claimed=False)
    over, under = (model.draw(np.random.default_rng(0)) for model in (null, mirrored))
    np.testing.assert_allclose(over, -under, atol=1e-8)


def test_p_value_counts_the_table_itself_and_takes_what_is_unknown_as_worse():
    assert p_value(10.0, [1.0] * 19) == pytest.approx(0.05)
    assert p_value(1.0, [1.0, 0.0]) == pytest.approx(2 / 3)
    assert p_value(1.0, [math.nan]) == 1.0


def test_a_fit_survives_only_beyond_the_draws_and_without_alarms(base, refits):
    quiet = refits(20, gain=-10.0, alpha=0.3, verdict="no bias found")
    good = read(base, quiet)
    assert good.ok
    assert good.value == pytest.approx(1 / 21)
    assert good.reading.startswith("Tables drawn without a bias do not show as much (p = 0.048, 20 tables).")
    assert "depend on the environment can, and were left out" in good.reading
    unclaimed = read(replace(base, verdict="no bias found"), quiet)
    assert unclaimed.reading.endswith("one was found in 0 of 20 tables drawn without a bias.")
    assert "left out" not in unclaimed.reading
    as_large = read(base, quiet[:15] + refits(5, gain=60.0, verdict="not identified"))
    assert not as_large.ok
    assert "show as much (p = 0.29, 20 tables): do not act" in as_large.reading
    alarms = read(base, quiet[:17] + refits(3, gain=5.0, alpha=0.3))
    assert not alarms.ok
    assert "found in 3 of 20 tables drawn without one (median alpha 0.3)" in alarms.reading


def test_without_a_comparison_of_models_alpha_is_compared(base, refits):
    without = replace(base, gain=math.nan)
    small = refits(20, gain=math.nan, alpha=0.5, verdict="not identified")
    assert read(without, small).ok
    assert not read(without, [replace(refit, alpha=2.5) for refit in small]).ok
    # No size is no bias, unless the fit failed.
    none = refits(20, gain=math.nan, alpha=math.nan, verdict="not identified")
    assert read(without, none).value == pytest.approx(1 / 21)
    assert read(without, [replace(refit, note="too few rows") for refit in none]).value == 1.0


def test_without_a_claim_only_alarms_in_null_tables_refute(base, refits):
    unclaimed = replace(base, verdict="no bias found", gain=-20.0)
    assert read(unclaimed, refits(20, gain=-10.0, verdict="no bias found")).ok
    assert not read(unclaimed, refits(20)).ok
