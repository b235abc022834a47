"""Cluster intercepts against the marginal normal likelihood and best linear prediction."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from proxycal.mixture.clusters import predict_intercepts, with_bias, without_bias
from proxycal.mixture.designs import Data, candidate_frames
from proxycal.mixture.features import fit_basis
from proxycal.testing.worlds import draw_world


def balanced(n_clusters=8, size=5, tau=0.7, seed=0):
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(n_clusters), size)
    return tau * rng.normal(size=n_clusters)[cluster] + 0.5 * rng.normal(size=len(cluster)), cluster


def rows_of(world):
    data = Data(world.y, world.P, world.E, np.ones(len(world.y)), np.ones(10, bool), world.cluster)
    proxies = fit_basis(data.P, np.zeros(5, bool), data.weights)(data.P)
    frame = candidate_frames(data, "constant")["linear"]
    return frame, frame.rows(data), proxies


def within_of(residual, cluster):
    means = np.bincount(cluster, residual) / np.bincount(cluster)
    return ((residual - means[cluster]) ** 2).sum() / (len(residual) - len(means))


def test_variances_are_those_of_the_analysis_of_variance():
    residual, cluster = balanced()
    means = residual.reshape(8, 5).mean(axis=1)
    tau2 = means.var(ddof=1) - within_of(residual, cluster) / 5
    assert predict_intercepts(residual, np.ones(40), cluster).tau == pytest.approx(np.sqrt(tau2), rel=1e-10)


def test_intercepts_are_the_best_linear_prediction():
    residual, cluster = balanced()
    found = predict_intercepts(residual, np.ones(40), cluster)
    Z = (cluster[:, None] == np.arange(8)).astype(float)
    cov = within_of(residual, cluster) * np.eye(40) + found.tau**2 * Z @ Z.T
    np.testing.assert_allclose(found.u, found.tau**2 * Z.T @ np.linalg.solve(cov, residual), atol=1e-12)


def test_cost_is_what_integrating_the_intercepts_out_costs():
    residual, cluster = balanced()
    found = predict_intercepts(residual, np.ones(40), cluster)
    within = within_of(residual, cluster)
    Z = (cluster[:, None] == np.arange(8)).astype(float)
    marginal = multivariate_normal.logpdf(residual, cov=within * np.eye(40) + found.tau**2 * Z @ Z.T)
    given = norm.logpdf(residual, found.u[cluster], np.sqrt(within)).sum()
    assert given + found.cost == pytest.approx(marginal, abs=1e-9)


def test_whole_weights_are_repeated_rows():
    residual, cluster = balanced()
    times = np.random.default_rng(1).integers(1, 4, 40)
    one = predict_intercepts(residual, times.astype(float), cluster)
    other = predict_intercepts(np.repeat(residual, times), np.ones(times.sum()), np.repeat(cluster, times))
    np.testing.assert_allclose(one.u, other.u, atol=1e-12)
    assert one.cost == pytest.approx(other.cost, rel=1e-10)


def test_clusters_that_share_nothing_cost_nothing():
    residual = np.tile([-1.0, 1.0], 20)
    found = predict_intercepts(residual, np.ones(40), np.repeat(np.arange(20), 2))
    assert found.tau == found.cost == 0.0
    assert not found.u.any()


def test_a_code_without_rows_has_no_intercept():
    residual, cluster = balanced()
    found = predict_intercepts(residual, np.ones(40), 2 * cluster)
    assert len(found.u) == 15
    np.testing.assert_allclose(found.u[::2], predict_intercepts(residual, np.ones(40), cluster).u, atol=1e-12)
    assert not found.u[1::2].any()


def test_without_a_bias_the_spread_of_the_clusters_is_found():
    world = draw_world("clusters", 1500, 0.0, seed=0)
    frame, rows, _ = rows_of(world)
    found = without_bias(rows, world.cluster)
    assert found.tau * frame.scale == pytest.approx(0.4, rel=0.25)
    assert found.cost < 0.0


def test_with_a_bias_the_clusters_do_not_swallow_it():
    world = draw_world("clusters", 1000, 3.0, seed=1)
    frame, rows, proxies = rows_of(world)
    first = without_bias(rows, world.cluster)
    found = with_bias(rows, proxies, world.cluster, first)
    assert found.tau * frame.scale == pytest.approx(0.4, rel=0.3)
    assert found.tau < first.tau
