"""Zeros by environment given the proxies: found, not invented, and with clusters."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from proxycal.methods.checks.zeros import fit_zeros, zero_test


def world(seed, by_environment, n=1500):
    rng = np.random.default_rng(seed)
    E = rng.normal(size=(n, 2))
    P = 0.5 * E[:, :1] + rng.normal(size=(n, 2))
    return rng.random(n) < expit(-1.0 + P[:, 0] + by_environment * E[:, 1]), P, E


def test_an_effect_of_the_environment_is_found_and_named():
    is_zero, P, E = world(0, by_environment=0.6)
    test = zero_test(is_zero, P, E, np.ones(len(P)))
    assert test.p < 1e-6
    assert (test.column, test.slope > 0.0) == (1, True)


def test_zeros_that_follow_content_are_no_effect_of_the_environment():
    p = [zero_test(*world(seed, 0.0), np.ones(1500)).p for seed in range(1, 41)]
    assert np.mean(np.array(p) < 0.1) < 0.25
    assert np.mean(p) > 0.35


def test_rows_of_a_cluster_count_once():
    is_zero, P, E = world(3, 0.0, n=150)
    again = [np.repeat(part, 10, axis=0) for part in (is_zero, P, E)]
    alone = zero_test(*again, np.ones(1500)).p
    clustered = zero_test(*again, np.ones(1500), np.repeat(np.arange(150), 10)).p
    assert clustered > alone


def test_nothing_is_asked_of_a_handful():
    _, P, E = world(0, 0.6)
    assert np.isnan(zero_test(np.arange(1500) < 3, P, E, np.ones(1500)).p)


def test_a_share_is_fitted_like_rows_of_both_kinds():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 1))
    beta = fit_zeros(x, expit(-0.5 + 1.5 * x[:, 0]), np.ones(4000))
    np.testing.assert_allclose(beta, [-0.5, 1.5], atol=0.01)
