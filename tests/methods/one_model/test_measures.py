"""Single numbers of the evidence against closed forms."""

import math

import numpy as np
import pytest

from proxycal.methods.one_model.measures import (
    autocorrelation,
    block_z,
    overlap_of,
    proxies_p,
    relevance_of,
    size_cv,
)


def test_relevance_is_the_partial_r2_of_the_proxies():
    rng = np.random.default_rng(1)
    n = 4000
    E, P = rng.normal(size=(n, 2)), rng.normal(size=(n, 3))
    # Variance 4 from E, which does not count; 1 from P; 3 of noise.
    y = 2.0 * E[:, 0] + P[:, 0] + np.sqrt(3.0) * rng.normal(size=n)
    assert relevance_of(y, P, E, np.ones(n)) == pytest.approx(0.25, abs=0.03)
    assert relevance_of(rng.normal(size=n), P, E, np.ones(n)) < 0.01


def test_relevance_of_weights_is_that_of_repeated_rows():
    rng = np.random.default_rng(2)
    E, P, y = rng.normal(size=(50, 1)), rng.normal(size=(50, 2)), rng.normal(size=50)
    y = y + P[:, 0]
    times = rng.integers(1, 4, 50)
    again = np.repeat(np.arange(50), times)
    weighted = relevance_of(y, P, E, times.astype(float))
    repeated = relevance_of(y[again], P[again], E[again], np.ones(len(again)))
    assert weighted == pytest.approx(repeated, rel=1e-9)


def test_overlap_is_the_share_of_biased_rows_among_the_unbiased():
    content = np.r_[np.linspace(0.0, 1.0, 101), [0.5, 0.2, 3.0, 4.0]]
    p = np.r_[np.zeros(101), np.ones(4)]
    assert overlap_of(content, p) == 0.5
    assert math.isnan(overlap_of(content, np.zeros(105)))


def test_sizes_vary_by_their_means_and_within():
    size, spread = np.array([1.0, 3.0]), np.array([0.0, 0.0])
    assert size_cv(size, spread, np.ones(2)) == pytest.approx(0.5)
    assert size_cv(np.full(2, 2.0), np.full(2, 1.0), np.ones(2)) == pytest.approx(0.5)


def test_neighbours_are_alike_in_a_walk_and_not_in_noise():
    rng = np.random.default_rng(3)
    noise, y = rng.normal(size=4000), rng.normal(size=4000)
    walk = np.convolve(noise, [1.0, 1.0], mode="same")
    assert autocorrelation(walk, y) == pytest.approx(0.5, abs=0.05)
    assert abs(autocorrelation(noise, y)) < 0.05
    # A table that is sorted by its outcome says nothing by its order.
    assert autocorrelation(np.sort(y), np.sort(y)) == 0.0


def test_a_lead_of_every_block_counts_and_that_of_one_does_not():
    even, alone = np.full(400, 0.1), np.zeros(400)
    even += np.random.default_rng(0).normal(0.0, 0.1, 400)
    alone[:20] = 2.0
    assert block_z(even, 5.0, None) > 5.0
    assert block_z(alone, 5.0, None) < 2.0


def test_proxies_that_say_who_is_biased_are_seen():
    rng = np.random.default_rng(4)
    P, scores = rng.normal(size=(2000, 2)), rng.normal(size=(2000, 3))
    left = rng.normal(size=2000)
    assert proxies_p(left, P, scores) > 1e-3
    assert proxies_p(left + 0.3 * P[:, 0], P, scores) < 1e-6
    assert proxies_p(np.zeros(2000), P, scores) == 1.0
