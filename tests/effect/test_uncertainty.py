from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from proxycal.effect.uncertainty import bootstrap_covariance, bootstrap_weights, normal_interval


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_a_normal_interval_holds_its_level(level):
    low, high = normal_interval(2.0, 0.5, level)
    assert norm.cdf(high, 2.0, 0.5) - norm.cdf(low, 2.0, 0.5) == pytest.approx(level, abs=1e-12)
    assert high - 2.0 == pytest.approx(2.0 - low, abs=1e-12)


def test_bootstrap_weights_have_the_rows_own_weights_as_mean_and_variance():
    # The sum of w exponentials of mean one: mean w, variance w.
    weights = np.array([0.5, 1.0, 4.0])
    draws = bootstrap_weights(weights, None, draws=40_000, random_state=1)
    # Five standard errors of a mean and of a variance of so many draws.
    np.testing.assert_allclose(draws.mean(axis=0), weights, atol=5 * 2.0 / 200)
    np.testing.assert_allclose(draws.var(axis=0), weights, rtol=0.15)


def test_rows_of_a_cluster_share_their_draw_and_keep_their_weights():
    weights, cluster = np.array([1.0, 3.0, 2.0]), np.array([7, 7, 2])
    draws = bootstrap_weights(weights, cluster, draws=50, random_state=0)
    np.testing.assert_allclose(draws[:, 1], 3.0 * draws[:, 0])
    assert abs(np.corrcoef(draws[:, 0], draws[:, 2])[0, 1]) < 0.6
    np.testing.assert_array_equal(draws, bootstrap_weights(weights, cluster, 50, random_state=0))
    assert not np.array_equal(draws, bootstrap_weights(weights, cluster, 50, random_state=1))


def test_the_covariance_of_tame_draws_is_the_ordinary_one():
    # A uniform draw ends at 1.35 robust standard deviations: nothing is pulled in.
    draws = np.random.default_rng(0).uniform(size=(500, 2)) @ np.array([[1.0, 0.0], [0.0, 3.0]])
    np.testing.assert_allclose(bootstrap_covariance(draws), np.cov(draws, rowvar=False), rtol=1e-12)
    assert bootstrap_covariance(draws[:, :1]).shape == (1, 1)


def test_one_wild_refit_does_not_decide_the_covariance():
    draws = np.random.default_rng(0).normal(size=(400, 2))
    wild = draws.copy()
    wild[0] = 1e9
    np.testing.assert_allclose(bootstrap_covariance(wild), bootstrap_covariance(draws), atol=0.05)
