"""Direct effects, the shape of the noise and gaps in content: against truth, closed forms and chance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, jarque_bera
from sklearn.decomposition import FactorAnalysis

from proxycal.methods.checks.instruments import (
    _instruments_p,
    content_proxies,
    direct_p,
    factors_p,
    inflation,
    moved_proxies,
)
from proxycal.methods.checks.outcome import (
    content_gap,
    direct_environment,
    gap_in_content,
    noise_shape,
    normality,
)
from proxycal.methods.checks.wald import meat, wald_p


def world(seed: int, n: int = 600):
    """(y, P, E): five noisy proxies of two latents that E drives; y sees the latents alone."""
    rng = np.random.default_rng(seed)
    E = rng.normal(size=(n, 3))
    z = E[:, :2] + rng.normal(size=(n, 2))
    loadings = np.array([[1.0, -0.8, 1.2, 0.5, 0.9], [0.6, 1.1, -0.7, 1.0, -1.2]])
    return z @ [1.0, 0.7] + 0.5 * rng.normal(size=n), z @ loadings + 0.4 * rng.normal(size=(n, 5)), E


def test_noisy_proxies_are_no_direct_effect_and_a_direct_effect_is_seen():
    p = []
    for seed in range(40):
        y, P, E = world(seed)
        w, nobody = np.ones(len(y)), np.zeros(len(y))
        p.append(direct_p(y, P, E, nobody, 0.0, 0.0, w))
        assert direct_p(y + 0.3 * E[:, 2], P, E, nobody, 0.0, 0.0, w) < 1e-4 or np.isnan(p[-1])
    asked = np.array(p)[np.isfinite(p)]
    assert len(asked) >= 36
    assert (asked < 0.05).sum() <= 6


def test_the_direct_effect_is_tested_by_two_stage_least_squares():
    y, P, E = world(3)
    y = y + 0.05 * E[:, 2]
    w, nobody = np.random.default_rng(0).uniform(0.5, 2.0, len(y)), np.zeros(len(y))
    ones = np.column_stack([np.ones(len(y)), E])
    held = content_proxies(P, ones, w)
    X, Z = np.column_stack([ones, P[:, held]]), np.column_stack([ones, np.delete(P, held, axis=1)])
    seen = Z @ np.linalg.solve(Z.T @ (Z * w[:, None]), Z.T @ (X * w[:, None]))
    bread = np.linalg.inv(seen.T @ (X * w[:, None]))
    beta = bread @ seen.T @ (w * y)
    scores = seen * (w * (y - X @ beta))[:, None]
    cov = (bread @ scores.T @ scores @ bread.T)[1:4, 1:4]
    p = chi2.sf(beta[1:4] @ np.linalg.solve(cov, beta[1:4]), 3)
    assert 1e-6 < p < 0.9
    assert direct_p(y, P, E, nobody, 0.0, 0.0, w) == pytest.approx(p)
    assert direct_environment(y, P, E, nobody, 0.0, 0.0, w, modelled=False).value == pytest.approx(p)
    # What is not known of alpha widens the errors along the slope of who is biased.
    who = (E[:, 2] > 0.0).astype(float)
    of_p = (bread @ seen.T @ (w * who))[1:4]
    wider = cov + 0.3**2 * np.outer(of_p, of_p)
    p = chi2.sf(beta[1:4] @ np.linalg.solve(wider, beta[1:4]), 3)
    assert direct_p(y, P, E, who, 2.0, 0.3, w) == pytest.approx(p)


def test_direct_effects_are_in_order_only_where_the_model_has_them():
    y, P, E = world(1)
    arguments = (y + E[:, 2], P, E, (E[:, 1] > 0.0).astype(float), 1.0, 0.0, np.ones(len(y)))
    assert direct_environment(*arguments, modelled=True).ok
    assert not direct_environment(*arguments, modelled=False).ok
    assert direct_environment(y, P[:, :1], E, *arguments[3:], modelled=False).statistic == "not tested"


def test_as_many_proxies_stand_for_content_as_it_has_sides():
    _, P, E = world(2)
    ones, w = np.column_stack([np.ones(600), E]), np.ones(600)
    assert len(content_proxies(P, ones, w)) == 2
    assert len(content_proxies(P[:, :1] + np.random.default_rng(0).normal(size=(600, 3)) * 0.1, ones, w)) == 1
    assert content_proxies(np.random.default_rng(0).normal(size=(600, 4)), ones, w) == []
    assert factors_p(P, ones, w, 2) > 0.01
    assert factors_p(P, ones, w, 1) < 1e-6
    assert np.isnan(factors_p(P, ones, w, 3))


def test_instruments_are_judged_by_as_wide_an_error():
    rng = np.random.default_rng(0)
    left, ones = rng.normal(size=400), np.ones((400, 1))
    X, Z = (np.column_stack([ones, rng.normal(size=(400, k))]) for k in (1, 2))
    known, unsure = (_instruments_p(left, X, Z, ones, np.ones(400), None, more) for more in (1.0, 2.25))
    extra = Z[:, 1] - X @ np.linalg.lstsq(X, Z[:, 1], rcond=None)[0]
    statistic = (extra @ left) ** 2 / (extra**2 @ left**2)
    assert known == pytest.approx(chi2.sf(statistic, 1))
    assert unsure == pytest.approx(chi2.sf(statistic / 2.25, 1))


def test_what_is_unknown_widens_and_nothing_unknown_does_not():
    ones, w = np.ones((400, 1)), np.ones(400)
    assert inflation(np.r_[np.zeros(200), np.ones(200)], 3.0, 1.0, ones, w) == 1.0
    # p(1-p) = 0.09, var(p) = 0.16: f = 0.09 / 1.09, g = 0.09 / 0.25.
    f, g = 0.09 / 1.09, 0.36
    made = inflation(np.r_[np.full(200, 0.1), np.full(200, 0.9)], 1.0, 1.0, ones, w)
    assert made == pytest.approx((1 + f / (1 - f - g)) / (1 - f))
    assert np.isnan(inflation(np.full(400, 0.5), 1.0, 1.0, ones, w))


def test_a_leaking_proxy_is_moved_by_the_environment_and_clean_ones_are_not():
    rng = np.random.default_rng(0)
    alarms = 0
    for seed in range(80):
        _, P, E = world(seed)
        alarms += bool((moved_proxies(P, E, np.ones(600)) * 5 < 0.01).any())
        if seed >= 20:
            continue
        P[:, 1] += 0.6 * (rng.random(600) < 1 / (1 + np.exp(-2 * E[:, 2])))
        found = moved_proxies(P, E, np.ones(600))
        assert np.isnan(found).all() or np.nanmin(found) < 1e-3
    # A level of 1%: more than 4 of 80 would come by chance in one of 600 cases.
    assert alarms <= 4


def test_a_proxy_is_moved_where_it_is_an_outcome_with_a_direct_effect():
    _, P, E = world(1)
    w, nobody = np.ones(600), np.zeros(600)
    one = [direct_p(P[:, k], np.delete(P, k, axis=1), E, nobody, 0.0, 0.0, w) for k in range(5)]
    assert np.isfinite(one).all()
    np.testing.assert_allclose(moved_proxies(P, E, w), one)


def test_common_factors_are_tested_as_in_maximum_likelihood_factor_analysis():
    _, P, _ = world(5)
    w = np.ones(600)
    model = FactorAnalysis(2, tol=1e-10, max_iter=20_000).fit((P - P.mean(axis=0)) / P.std(axis=0))
    corr, made = np.corrcoef(P.T), model.get_covariance()
    lack = np.log(np.linalg.det(made) / np.linalg.det(corr)) + np.trace(corr @ np.linalg.inv(made)) - 5
    # Bartlett: n - 1 - (2 p + 5) / 6 - 2 r / 3, and ((p - r)^2 - p - r) / 2 degrees of freedom.
    p = chi2.sf((600 - 1 - 15 / 6 - 4 / 3) * lack, 1)
    assert factors_p(P, np.ones((600, 1)), w, 2) == pytest.approx(p, rel=1e-3)


def test_normality_is_that_of_jarque_and_bera_where_all_is_known():
    x = np.random.default_rng(3).exponential(size=50)
    p, skew = normality(x, np.zeros(50), np.zeros(50), np.ones(50))
    reference = jarque_bera(x)
    assert p == pytest.approx(reference.pvalue)
    assert skew == pytest.approx(((x - x.mean()) ** 3).mean() / x.std() ** 3)
    # A row twice is a weight of two; in pairs that are clusters, one row.
    twice = np.repeat(x, 2)
    assert normality(x, np.zeros(50), np.zeros(50), np.full(50, 2.0))[0] == pytest.approx(p)
    pairs = normality(twice, np.zeros(100), np.zeros(100), np.ones(100), np.repeat(np.arange(50), 2))
    assert chi2.isf(pairs[0], 2) == pytest.approx(chi2.isf(p, 2))


def test_a_bias_is_no_skew_and_a_skew_is():
    rng = np.random.default_rng(1)
    a = (rng.random(800) < 0.2).astype(float)
    noise, bias, w = rng.normal(size=800), np.full(800, 4.0), np.ones(800)
    assert noise_shape(noise + 4.0 * a, a, bias, w, modelled=False).ok
    skewed = rng.exponential(size=800)
    assert not noise_shape(skewed + 4.0 * a, a, bias, w, modelled=False).ok
    seen = noise_shape(skewed + 4.0 * a, a, bias, w, modelled=True)
    assert seen.ok
    assert seen.value == normality(skewed + 4.0 * a, a, bias, w)[0]


def test_the_gap_by_hand_and_only_where_the_environment_tells():
    rng = np.random.default_rng(0)
    side = np.repeat([-1.0, 1.0], 500)
    content = 3.0 * side + rng.normal(size=1000)
    E, w = np.column_stack([side + 0.2 * rng.normal(size=1000), rng.normal(size=1000)]), np.ones(1000)
    gap, told = content_gap(content, E, w)
    # Groups 6 sds apart, each reaching 1.645 towards the other.
    assert gap == pytest.approx(6.0 - 2 * 1.645, abs=0.3)
    assert told == pytest.approx(1 / 1.04, abs=0.02)
    assert not gap_in_content(content, E, w).ok
    assert gap_in_content(content, E, w).value == gap
    assert gap_in_content(content, E[:, 1:], w).ok
    assert content_gap(rng.normal(size=5000), rng.normal(size=(5000, 1)), np.ones(5000))[0] < 0.35
    assert content_gap(np.ones(10), np.ones((10, 1)), np.ones(10)) == (0.0, 0.0)


def test_few_clusters_make_a_careful_test():
    scores = np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0]])
    np.testing.assert_allclose(meat(scores, np.array([0, 0, 1])), [[9.0, 3.0], [3.0, 10.0]])
    value, cov = np.array([2.0, 1.0]), np.eye(2)
    assert wald_p(value, cov) == pytest.approx(chi2.sf(5.0, 2))
    assert wald_p(value, cov, np.arange(10)) > wald_p(value, cov, np.arange(1000)) > wald_p(value, cov)
    assert wald_p(value, cov, np.array([0, 1])) == 1.0
