"""Tests of two samples: known values, and p-values that are even under one law."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from proxycal.drift.smooth import (
    beyond,
    compare_levels,
    compare_numbers,
    fisher,
    independent,
    ks_distance,
    legendre,
    ranks,
)


def ones(*parts):
    return tuple(np.ones(len(part)) for part in parts)


def test_polynomials_are_orthonormal_over_even_ranks():
    u = (np.arange(20_000) + 0.5) / 20_000
    scores = legendre(u, 4)
    # Sums for integrals: right to one over the number of places, squared.
    assert np.allclose(scores.T @ scores / len(u), np.eye(4), atol=1e-6)


def test_fisher_and_distance_are_those_of_scipy():
    for table in ([[3, 17], [9, 191]], [[0, 5], [40, 60]], [[12, 0], [5, 9]]):
        (a, b), (c, d) = table
        assert fisher(a, a + b, c, c + d) == pytest.approx(stats.fisher_exact(table).pvalue, rel=1e-9)
    rng = np.random.default_rng(0)
    old, new = rng.normal(size=70).round(1), rng.normal(0.3, size=40).round(1)
    assert ks_distance(old, new) == pytest.approx(stats.ks_2samp(old, new).statistic, abs=1e-12)


def test_rows_beyond_all_others_are_as_rare_as_counted():
    rng = np.random.default_rng(1)
    draws = rng.normal(size=(20_000, 60))
    p = np.array([beyond(row[:50], row[50:]) for row in draws[:4000]])
    # An upper bound: no more often below a level than the level says, by four binomial errors.
    for level in (0.3, 0.1):
        assert (p <= level).mean() <= level + 4 * np.sqrt(level * (1 - level) / len(p))
    assert beyond(np.arange(999.0), np.full(3, 5000.0)) < 1e-7


@pytest.mark.parametrize("m", [5, 30, 200])
@pytest.mark.parametrize("law", ["normal", "lognormal", "ties", "mostly zero"])
def test_one_law_is_seldom_told_as_two(m, law):
    rng = np.random.default_rng(m)

    def draw(n):
        x = rng.normal(size=n)
        if law == "lognormal":
            return np.exp(2.0 * x)
        if law == "ties":
            return np.round(x)
        return np.where(rng.random(n) < 0.97, 0.0, x) if law == "mostly zero" else x

    ps = np.array([_p(draw(400), draw(m)) for _ in range(1500)])
    # Levels that verdicts use are smaller still; 0.01 can be counted in 1,500 draws (four errors above).
    assert (ps < 0.01).mean() <= 0.01 + 4 * np.sqrt(0.01 * 0.99 / len(ps))


def _p(old, new):
    return compare_numbers(old, new, ones(old, new)).p


def test_place_spread_and_shares_are_seen():
    rng = np.random.default_rng(3)
    old = rng.normal(size=500)
    assert _p(old, rng.normal(0.5, 1.0, size=300)) < 1e-6
    assert _p(old, rng.normal(0.0, 2.0, size=300)) < 1e-6
    levels = rng.integers(0, 4, size=500)
    moved = np.where(rng.random(300) < 0.3, 0, rng.integers(0, 4, size=300))
    found = compare_levels(levels, moved, ones(levels, moved))
    assert found.p < 1e-6
    assert 0.1 < found.distance < 0.35


def test_levels_of_one_law_are_seldom_told_as_two():
    rng = np.random.default_rng(4)
    shares = np.array([0.6, 0.3, 0.08, 0.015, 0.005])
    ps = []
    for _ in range(1500):
        old, new = rng.choice(5, 300, p=shares), rng.choice(5, 60, p=shares)
        ps.append(compare_levels(old, new, ones(old, new)).p)
    assert (np.array(ps) < 0.01).mean() <= 0.01 + 4 * np.sqrt(0.01 * 0.99 / len(ps))


def test_rows_of_a_cluster_count_as_few():
    rng = np.random.default_rng(5)
    codes = np.repeat(np.arange(40), 10)
    assert independent(np.ones(400), codes) == pytest.approx(40.0)
    alarms = plain = 0
    for _ in range(200):
        old, new = (np.repeat(rng.normal(size=40), 10) + 0.3 * rng.normal(size=400) for _ in range(2))
        plain += compare_numbers(old, new, ones(old, new)).p < 0.01
        alarms += compare_numbers(old, new, ones(old, new), (codes, codes)).p < 0.01
    assert plain > 40
    assert alarms <= 8


def test_weights_are_copies_in_the_ranks():
    x, w = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 1.0])
    copied = ranks(np.repeat(x, w.astype(int)), np.ones(4))
    assert np.allclose(ranks(x, w), copied[[0, 1, 3]], atol=1e-12)
