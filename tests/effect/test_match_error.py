"""Standard errors of the matched effect against closed forms and simulation."""

from __future__ import annotations

import numpy as np
import pytest

from proxycal.effect.match_error import abadie_imbens, by_cluster, control_variance


def test_one_point_gives_every_control_the_weighted_variance():
    y, w = np.array([1.0, 2.0, 6.0]), np.array([2.0, 1.0, 1.0])
    made = control_variance(y, w, np.zeros(3, int), np.array([4.0]), np.zeros((3, 1), int), np.zeros(3))
    repeated = np.array([1.0, 1.0, 2.0, 6.0])
    np.testing.assert_allclose(made, np.full(3, repeated.var()), rtol=1e-12)


def test_the_variance_of_a_control_is_right_on_average():
    """Two neighbours each, noise of variance 4: E[tau^2] = 4 (1 + 1/2), which is taken out again."""
    rng = np.random.default_rng(0)
    m = 30_000
    y = rng.normal(0.0, 2.0, m)
    near = (np.arange(m)[:, None] + [1, 2]) % m
    tau = y - y[near].mean(axis=1)
    made = control_variance(y, np.ones(m), np.arange(m), np.ones(m), near, tau)
    # Squares of normals have a relative sd of sqrt(2); neighbours overlap, which costs a little more.
    assert made.mean() == pytest.approx(4.0, rel=5 * np.sqrt(3 * 2 / m))


def test_a_neighbour_that_is_missing_does_not_count():
    y, tau = np.array([0.0, 1.0, 3.0]), np.array([-1.0, 1.0, 2.0])
    near = np.array([[1, -1], [0, -1], [1, -1]])
    made = control_variance(y, np.ones(3), np.arange(3), np.ones(3), near, tau)
    np.testing.assert_allclose(made, tau**2 / 2)


def test_repeated_rows_at_a_point_are_one_outcome():
    """Point 1 holds the outcome 1.0 once or twice: no more is known of it."""
    near = np.array([[1], [0], [0]])
    tau = np.array([-1.0, 1.0, 1.0])
    y, where, weight = np.array([0.0, 1.0, 1.0]), np.array([0, 1, 1]), np.array([1.0, 2.0])
    twice = control_variance(y, np.ones(3), where, weight, near, tau)
    once = control_variance(y[:2], np.ones(2), np.arange(2), np.ones(2), near[:2], tau[:2])
    assert twice[0] == once[0] == 0.5


def test_without_shared_controls_the_variance_is_that_of_a_mean():
    deviation = np.array([-1.0, 0.0, 1.0])
    assert abadie_imbens(deviation, np.ones(3), np.array([4.0]), np.array([0.0])) == pytest.approx(2.0 / 9.0)
    # A control in all three matches: K^2 - K' = 9 - 3, times its variance.
    shared = abadie_imbens(deviation, np.ones(3), np.array([4.0]), np.array([6.0]))
    assert shared == pytest.approx((2.0 + 6.0 * 4.0) / 9.0)


def test_clusters_of_one_row_are_the_difference_of_two_means():
    """Without content and with equal use, alpha is a difference of means: var / n of each group."""
    rng = np.random.default_rng(1)
    n = 400
    biased = np.arange(n) < 150
    y = rng.normal(size=n) + 2.0 * biased
    alpha = y[biased].mean() - y[~biased].mean()
    usage = np.full(250, 150 / 250)
    made = by_cluster(y, np.zeros((n, 1)), np.ones(n), biased, alpha, np.zeros(1), usage, np.arange(n))
    known = y[biased].var() / 150 + y[~biased].var() / 250
    assert made == pytest.approx(known * n / (n - 1), rel=1e-10)


def test_rows_that_repeat_their_cluster_hold_no_more_information():
    rng = np.random.default_rng(2)
    n, times = 60, 5
    biased, y, z = np.arange(n) < 20, rng.normal(size=n), rng.normal(size=(n, 2))
    slope, alpha = np.array([0.3, -0.2]), 0.7
    usage = rng.uniform(0.1, 1.0, 40)
    once = by_cluster(y, z, np.ones(n), biased, alpha, slope, usage, np.arange(n))
    again = by_cluster(
        np.repeat(y, times), np.repeat(z, times, axis=0), np.ones(n * times), np.repeat(biased, times),
        alpha, slope, np.repeat(usage, times), np.repeat(np.arange(n), times),
    )  # fmt: skip
    assert again == pytest.approx(once, rel=1e-10)
