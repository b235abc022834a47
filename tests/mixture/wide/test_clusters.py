"""Random intercepts under a wider model: their sd, their values and what they cost."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from proxycal.mixture.wide.clusters import refine
from proxycal.mixture.wide.fit import fit, plain_start
from proxycal.mixture.wide.law import Law
from proxycal.mixture.wide.problem import Problem


def clustered(tau, seed=0, clusters=60, rows=8):
    rng = np.random.default_rng(seed)
    n = clusters * rows
    cluster = np.repeat(np.arange(clusters), rows)
    X = np.column_stack([np.ones(n), rng.normal(size=n)])
    u = tau * rng.normal(size=clusters)
    y = X @ [0.0, 0.7] + u[cluster] + 0.6 * rng.normal(size=n)
    problem = Problem(y, X, rng.normal(size=(n, 1)), np.zeros(n), np.ones(n))
    return fit(problem, Law(), plain_start(problem, Law())), y, cluster, u


def test_intercepts_are_predicted_and_their_sd_is_right():
    model, y, cluster, u = clustered(0.8)
    own = refine(model, y, cluster)
    assert own.tau == pytest.approx(0.8, rel=0.2)
    assert np.corrcoef(own.intercepts, u)[0, 1] > 0.9
    sd = np.exp(own.fitted.theta[own.fitted.likelihood.at.log_sigma][0])
    # An intercept takes up one degree of freedom of the eight rows of its cluster.
    assert sd == pytest.approx(0.6 * np.sqrt(7.0 / 8.0), rel=0.1)


def test_their_price_is_that_of_the_marginal_likelihood():
    # With normal noise Laplace's approximation is exact.
    model, y, cluster, _ = clustered(0.8)
    own = refine(model, y, cluster)
    theta, at = own.fitted.theta, own.fitted.likelihood.at
    residual = (y - model.problem.X @ theta[at.b]).reshape(60, 8)
    covariance = np.exp(2.0 * theta[at.log_sigma][0]) * np.eye(8) + own.tau**2
    loglik = multivariate_normal(np.zeros(8), covariance).logpdf(residual).sum()
    assert own.bic == pytest.approx(3 * np.log(len(y)) - 2.0 * loglik, abs=1.0)


def test_clusters_that_share_nothing_hardly_change_the_model():
    model, y, cluster, _ = clustered(0.0)
    own = refine(model, y, cluster)
    assert own.tau < 0.2
    assert own.bic == pytest.approx(model.bic, abs=6.0)
