"""Direct effects and moved proxies: against truth, closed forms and chance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2
from sklearn.decomposition import FactorAnalysis

from proxycal.methods.checks.instruments import (
    Given,
    content_proxies,
    direct_p,
    factors_p,
    inflation,
    instruments_p,
    moved_proxies,
)


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
    held = content_proxies(Given.of(P, E, w))
    X, Z = np.column_stack([ones, P[:, held]]), np.column_stack([ones, np.delete(P, held, axis=1)])
    seen = Z @ np.linalg.solve(Z.T @ (Z * w[:, None]), Z.T @ (X * w[:, None]))
    bread = np.linalg.inv(seen.T @ (X * w[:, None]))
    beta = bread @ seen.T @ (w * y)
    scores = seen * (w * (y - X @ beta))[:, None]
    cov = (bread @ scores.T @ scores @ bread.T)[1:4, 1:4]
    p = chi2.sf(beta[1:4] @ np.linalg.solve(cov, beta[1:4]), 3)
    assert 1e-6 < p < 0.9
    assert direct_p(y, P, E, nobody, 0.0, 0.0, w) == pytest.approx(p)
    # What is not known of alpha widens the errors along the slope of who is biased.
    who = (E[:, 2] > 0.0).astype(float)
    of_p = (bread @ seen.T @ (w * who))[1:4]
    wider = cov + 0.3**2 * np.outer(of_p, of_p)
    p = chi2.sf(beta[1:4] @ np.linalg.solve(wider, beta[1:4]), 3)
    assert direct_p(y, P, E, who, 2.0, 0.3, w) == pytest.approx(p)


def test_as_many_proxies_stand_for_content_as_it_has_sides():
    _, P, E = world(2)
    rng, w = np.random.default_rng(0), np.ones(600)
    two, one, none = (
        Given.of(proxies, E, w)
        for proxies in (P, P[:, :1] + rng.normal(size=(600, 3)) * 0.1, rng.normal(size=(600, 4)))
    )
    assert [len(content_proxies(given)) for given in (two, one, none)] == [2, 1, 0]
    assert factors_p(two, 2) > 0.01
    assert factors_p(two, 1) < 1e-6
    assert np.isnan(factors_p(two, 3))


def test_instruments_are_judged_by_as_wide_an_error():
    left, extra = np.random.default_rng(0).normal(size=(2, 400))
    known, unsure = (instruments_p(left, extra[:, None], None, more) for more in (1.0, 2.25))
    statistic = (extra @ left) ** 2 / (extra**2 @ left**2)
    assert known == pytest.approx(chi2.sf(statistic, 1))
    assert unsure == pytest.approx(chi2.sf(statistic / 2.25, 1))


def test_columns_that_repeat_each_other_and_proxies_that_the_environment_tells_change_nothing():
    _, P, E = world(4)
    w = np.random.default_rng(1).uniform(0.5, 2.0, 600)
    plain = moved_proxies(P, E, w)
    repeated = np.column_stack([E, E[:, 0] - 2.0 * E[:, 1], np.ones(600)])
    np.testing.assert_allclose(moved_proxies(P, repeated, w), plain, rtol=1e-6)
    told = Given.of(np.column_stack([P, E[:, 0] + 3.0]), E, w)
    assert told.seen == [0, 1, 2, 3, 4]
    assert content_proxies(told) == content_proxies(Given.of(P, E, w))


def test_what_is_unknown_widens_and_nothing_unknown_does_not():
    nothing, w = np.empty((400, 0)), np.ones(400)
    assert inflation(np.r_[np.zeros(200), np.ones(200)], 3.0, 1.0, nothing, w) == 1.0
    # p(1-p) = 0.09, var(p) = 0.16: f = 0.09 / 1.09, g = 0.09 / 0.25.
    f, g = 0.09 / 1.09, 0.36
    widened = inflation(np.r_[np.full(200, 0.1), np.full(200, 0.9)], 1.0, 1.0, nothing, w)
    assert widened == pytest.approx((1 + f / (1 - f - g)) / (1 - f))
    assert np.isnan(inflation(np.full(400, 0.5), 1.0, 1.0, nothing, w))


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
    alone = [direct_p(P[:, k], np.delete(P, k, axis=1), E, nobody, 0.0, 0.0, w) for k in range(5)]
    assert np.isfinite(alone).all()
    np.testing.assert_allclose(moved_proxies(P, E, w), alone)


def test_common_factors_are_tested_as_in_maximum_likelihood_factor_analysis():
    _, P, _ = world(5)
    model = FactorAnalysis(2, tol=1e-10, max_iter=20_000).fit((P - P.mean(axis=0)) / P.std(axis=0))
    corr, widened = np.corrcoef(P.T), model.get_covariance()
    lack = np.log(np.linalg.det(widened) / np.linalg.det(corr)) + np.trace(corr @ np.linalg.inv(widened)) - 5
    # Bartlett: n - 1 - (2 p + 5) / 6 - 2 r / 3, and ((p - r)^2 - p - r) / 2 degrees of freedom.
    p = chi2.sf((600 - 1 - 15 / 6 - 4 / 3) * lack, 1)
    assert factors_p(Given.of(P, np.empty((600, 0)), np.ones(600)), 2) == pytest.approx(p, rel=1e-3)
