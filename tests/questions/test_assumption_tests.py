"""Further assumptions: each test against a world where the answer is known, and against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from proxycal.questions.assumption_tests import (
    agreement_of_models,
    even_noise,
    exclusion,
    leverage,
    multiplicity,
    row_influence,
    slope_test,
)
from proxycal.result import Finding


def world(n: int = 600, seed: int = 0):
    """(P, E, a): three proxies of one latent, who is biased follows E alone."""
    rng = np.random.default_rng(seed)
    E = rng.normal(size=(n, 2))
    z = E[:, 0] + rng.normal(size=n)
    P = z[:, None] * [1.0, -0.8, 1.2] + 0.4 * rng.normal(size=(n, 3))
    a = (rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * E[:, 1]))).astype(float)
    return P, E, a


NAMES = ("one", "two", "three")
NONE = np.full(3, np.nan)


def test_slope_and_its_robust_t_are_those_of_least_squares():
    rng = np.random.default_rng(1)
    C = np.column_stack([np.ones(80), rng.normal(size=80)])
    x, y = rng.normal(size=(2, 80))
    w = rng.uniform(0.5, 2.0, 80)
    X = np.column_stack([C, x])
    bread = np.linalg.inv(X.T @ (X * w[:, None]))
    beta = bread @ X.T @ (w * y)
    e = w * (y - X @ beta)
    se = np.sqrt((bread @ ((X * e[:, None]).T @ (X * e[:, None])) @ bread)[2, 2])
    slope, t = slope_test(y, x, C, w)
    assert slope == pytest.approx(beta[2])
    assert t == pytest.approx(beta[2] / se)
    # Each row twice as a cluster of two: the same t, where rows alone would give sqrt(2) more.
    twice = [np.repeat(one, 2, axis=0) for one in (y, x, C, w)]
    assert slope_test(*twice, np.repeat(np.arange(80), 2))[1] == pytest.approx(t)
    assert slope_test(y, np.ones(80), C, w) == (0.0, 0.0)


def test_clean_proxies_pass_and_a_leaking_one_is_named():
    alarms = 0
    for seed in range(30):
        P, E, a = world(seed=seed)
        w = np.ones(len(a))
        alarms += not exclusion(P, NAMES, E, a, NONE, NONE, w).ok
        P[:, 1] += 0.5 * a
        found = exclusion(P, NAMES, E, a, NONE, NONE, w)
        assert not found.ok
        assert "'two'" in found.reading
    assert alarms == 0


def test_a_bias_of_its_own_names_the_proxy_whatever_p_biased_says():
    P, E, a = world()
    found = exclusion(P, NAMES, E, a, np.array([-20.0, np.nan, 40.0]), NONE, np.ones(len(a)))
    assert not found.ok
    assert "'three'" in found.statistic
    assert exclusion(P, NAMES, E, a, np.array([-20.0, 3.0, 10.0]), NONE, np.ones(len(a))).ok


def test_a_proxy_that_the_environment_moves_is_an_alarm_without_a_name():
    P, E, a = world()
    found = exclusion(P, NAMES, E, a, NONE, np.array([0.2, 1e-7, np.nan]), np.ones(len(a)))
    assert not found.ok
    assert found.value == pytest.approx(3e-7)
    assert "some proxy" in found.reading
    assert exclusion(P, NAMES, E, a, NONE, np.array([0.2, 1e-4, np.nan]), np.ones(len(a))).ok


def test_even_noise_passes_and_uneven_noise_is_seen_unless_modelled():
    alarms = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        E = rng.normal(size=(500, 3))
        noise = rng.normal(size=500)
        alarms += not even_noise(noise**2, E, np.ones(500), modelled=False).ok
        uneven = (noise * np.exp(0.5 * E[:, 0])) ** 2
        assert not even_noise(uneven, E, np.ones(500), modelled=False).ok
    assert alarms <= 1
    assert even_noise(uneven, E, np.ones(500), modelled=True).ok


def test_the_size_of_the_noise_is_tested_as_a_regression_with_robust_errors():
    rng = np.random.default_rng(4)
    E, square, w = rng.normal(size=(90, 2)), rng.exponential(size=90), rng.uniform(0.5, 2.0, 90)
    X, size = np.column_stack([np.ones(90), E]), np.sqrt(square)
    bread = np.linalg.inv(X.T @ (X * w[:, None]))
    beta = bread @ X.T @ (w * size)
    scores = X * (w * (size - X @ beta))[:, None]
    cov = (bread @ scores.T @ scores @ bread)[1:, 1:]
    p = chi2.sf(beta[1:] @ np.linalg.solve(cov, beta[1:]), 2)
    assert even_noise(square, E, w, modelled=False).value == pytest.approx(p)


def test_noise_that_a_cluster_shares_is_one_observation():
    rng = np.random.default_rng(0)
    rejected = [0, 0]
    for _ in range(20):
        E = np.repeat(rng.normal(size=(40, 2)), 20, axis=0)
        cluster = np.repeat(np.arange(40), 20)
        square = np.repeat(rng.normal(size=40) ** 2, 20)
        for i, codes in enumerate((None, cluster)):
            rejected[i] += not even_noise(square, E, np.ones(800), False, codes).ok
    assert rejected[0] >= 12
    assert rejected[1] <= 4


def test_influence_is_what_leaving_a_row_out_does():
    P, E, a = world(n=60)
    rng = np.random.default_rng(5)
    X = np.column_stack([np.ones(60), P, E])
    y = P[:, 0] + 2.0 * a + rng.normal(size=60)
    w = np.ones(60)
    influence, se = row_influence(y, X, a, w)

    def slope(rows: np.ndarray) -> float:
        return float(np.linalg.lstsq(np.column_stack([X, a])[rows], y[rows], rcond=None)[0][-1])

    everything = np.arange(60)
    moved = np.array([slope(everything) - slope(np.delete(everything, i)) for i in range(60)])
    # Frisch-Waugh keeps what X explains fixed, which is all but exact for one row of many.
    assert np.corrcoef(influence, moved)[0, 1] > 0.99
    many = np.argsort(-np.abs(moved))[:20]
    assert np.median(influence[many] / moved[many]) == pytest.approx(1.0, abs=0.08)
    # The error is that of the slope's robust t.
    slope_all, t = slope_test(y, a, X, w)
    assert se == pytest.approx(abs(slope_all / t))
    most = leverage(y, P, E, a, w)
    assert most.value == pytest.approx(np.abs(influence).max() / se)
    assert most.statistic == f"the heaviest row moves alpha by {most.value:.2f} standard errors"


def test_one_wild_row_or_cluster_is_heavy():
    P, E, a = world()
    rng = np.random.default_rng(2)
    y = P[:, 0] + 2.0 * a + rng.normal(size=len(a))
    w = np.ones(len(a))
    assert leverage(y, P, E, a, w).ok
    wild = y.copy()
    wild[np.flatnonzero(a)[0]] += 500.0
    heavy = leverage(wild, P, E, a, w)
    assert not heavy.ok
    assert "row" in heavy.reading


def test_models_that_fit_alike_must_name_one_size():
    assert agreement_of_models([(-100.0, 2.0), (-97.0, 2.1), (-20.0, 9.0)], se=0.05).ok
    found = agreement_of_models([(-100.0, 2.0), (-97.0, 3.0)], se=0.05)
    assert not found.ok
    assert found.value == pytest.approx(1.0)


def test_multiplicity_counts():
    fine, bad = (Finding("q", "s", "r", "m", ok=ok) for ok in (True, False))
    found = multiplicity([fine, bad, fine])
    assert found.value == 1.0
    assert "1 of 3" in found.statistic
    assert found.ok
