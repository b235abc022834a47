"""The likelihood ratio of two biases against one, on rows whose law is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from proxycal.drift.bias import BiasRows, Law, compare_bias, log_odds_of, with_squares


def rows(n, seed, size=2.0, d=0.0, c=1.0, m=0.0, groups=0):
    """Rows as a fit sees them, and P(biased) given the report; groups : clusters whose rows are equal."""
    rng = np.random.default_rng(seed)
    of = np.arange(n) if groups == 0 else np.arange(n) % groups
    who = (-0.5 + rng.normal(size=n))[of]
    biased = (rng.random(n) < expit(who + d))[of]
    off = m + rng.standard_t(8, n)[of] + size * c * biased
    made = BiasRows(off, np.full(n, size), who, np.ones(n), None if groups == 0 else of)
    return made, expit(who + size * off - 0.5 * size**2)


def change(new, old=None):
    old, p = rows(1500, 1) if old is None else old
    return compare_bias(old, new, Law.of(old, p))


def test_nothing_changed():
    # Each with fitted rows of its own: their errors would be in all of them.
    ps = np.array([change(rows(200, seed)[0], rows(600, 500 + seed)).p for seed in range(10, 34)])
    assert ps.min() > 0.005  # of 24, where 0.1 are expected below
    assert 0.3 < ps.mean() < 0.7  # five standard errors


@pytest.mark.parametrize(("d", "c"), [(0.0, 1.6), (0.0, 0.4), (1.5, 1.0), (-2.0, 1.0)])
def test_a_change_of_size_or_odds_is_found_and_said(d, c):
    made = [change(rows(600, seed, d=d, c=c)[0]) for seed in (60, 61)]
    assert max(one.p for one in made) < 0.005
    # About how many times; who is biased is known least where few are.
    assert np.median([one.size for one in made]) == pytest.approx(c, abs=0.25)
    assert np.log(np.median([one.odds for one in made])) == pytest.approx(d, abs=0.7)
    assert all(abs(one.size - c) < 4.0 * one.size_se for one in made)


def test_a_drift_of_the_content_is_no_change_of_the_bias():
    assert min(change(rows(500, seed, m=0.3)[0]).p for seed in range(70, 73)) > 0.005


def test_rows_of_a_cluster_count_once():
    old = rows(3000, 1, groups=300)
    ps = [change(rows(1500, seed, groups=150)[0], old).p for seed in range(80, 86)]
    assert min(ps) > 0.005


def test_few_rows_say_nothing():
    made = change(rows(20, 3, c=3.0)[0])
    assert made.p == 1.0
    assert np.isnan(made.size)


def test_log_odds_by_columns():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2))
    chance = expit(0.3 + x @ [1.0, -0.5] + 0.4 * x[:, 0] ** 2)
    slopes = log_odds_of(x, chance, np.ones(400))
    np.testing.assert_allclose(expit(with_squares(x) @ slopes), chance, atol=0.01)  # a weak pull to even odds
