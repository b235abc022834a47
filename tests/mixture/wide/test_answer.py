"""What wider models say of rows, and their standard errors, against closed forms."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from proxycal.mixture.wide.answer import answers, errors, mean_size
from proxycal.mixture.wide.fit import fit, plain_start
from proxycal.mixture.wide.law import Law, gamma_bins
from proxycal.mixture.wide.likelihood import Likelihood

BIASES = [
    Law(states=1),
    Law(states=1, gate="E y"),
    Law(states=1, cv=0.7, components=2, scale="E"),
    Law(states=2, spread=True, gate="E m", by_content=True),
]


@pytest.mark.parametrize("law", BIASES, ids=lambda law: law.label)
def test_answers_are_probabilities_and_sizes(law, draw_problem, draw_theta):
    problem = draw_problem(n=200)
    found = answers(Likelihood(problem, law), draw_theta(law, problem))
    for p in (found.p_biased, found.prior, found.against):
        assert ((p >= 0.0) & (p <= 1.0)).all()
    assert (found.against <= found.p_biased + 1e-12).all()
    assert (found.spread >= 0.0).all()
    for values in (found.size, found.mu):
        assert values.shape == (200,)
        assert np.isfinite(values).all()


def test_one_size_is_the_same_for_all(draw_problem, draw_theta):
    problem, law = draw_problem(), Law(states=1)
    theta = draw_theta(law, problem)
    likelihood = Likelihood(problem, law)
    found = answers(likelihood, theta)
    alpha = theta[likelihood.at.alpha][0]
    np.testing.assert_allclose(found.size, alpha)
    np.testing.assert_allclose(found.spread, 0.0, atol=1e-6)
    assert mean_size(likelihood, theta) == pytest.approx(alpha)
    np.testing.assert_allclose(found.mu, problem.X @ theta[likelihood.at.b])
    gate = theta[likelihood.at.gamma]
    np.testing.assert_allclose(found.prior, expit(gate[0] + problem.E @ gate[1:]))


def test_a_size_that_varies_is_drawn_towards_what_the_outcome_says(draw_problem, draw_theta):
    problem, law = draw_problem(), Law(states=1, spread=True)
    theta = draw_theta(law, problem)
    likelihood = Likelihood(problem, law)
    at, found = likelihood.at, answers(likelihood, theta)
    sigma2, omega2 = np.exp(2.0 * theta[at.log_sigma][0]), np.exp(2.0 * theta[at.log_omega][0])
    part = omega2 / (sigma2 + omega2)
    alpha = theta[at.alpha][0]
    left = problem.y - problem.X @ theta[at.b] - alpha
    np.testing.assert_allclose(found.size, alpha + part * left, rtol=1e-9)
    np.testing.assert_allclose(found.spread, np.sqrt(part * sigma2), rtol=1e-9)


def test_gamma_sizes_are_averaged_over_their_bins(draw_problem, draw_theta):
    problem, law = draw_problem(n=3), Law(states=1, cv=0.7)
    theta = draw_theta(law, problem)
    likelihood = Likelihood(problem, law)
    at, found, bins = likelihood.at, answers(likelihood, theta), gamma_bins(0.7)
    sd, alpha = np.exp(theta[at.log_sigma][0]), theta[at.alpha][0]
    total = np.sqrt(sd**2 + (alpha * bins.sd) ** 2)
    left = (problem.y - problem.X @ theta[at.b])[:, None] - alpha * bins.mean
    mass = np.exp(bins.log_share) * norm.pdf(left, 0.0, total)
    size = alpha * bins.mean + (alpha * bins.sd) ** 2 / total**2 * left
    np.testing.assert_allclose(found.size, (mass * size).sum(axis=1) / mass.sum(axis=1), rtol=1e-9)


def second_slope(problem, seen):
    """The second slope of the content, from what the rows say."""
    content = problem.y - seen.cells.left[0, 0]
    return float(np.linalg.lstsq(problem.X, content, rcond=None)[0][1])


@pytest.mark.parametrize("clustered", [False, True], ids=["rows", "clusters"])
def test_errors_are_the_sandwich_of_least_squares(clustered, draw_problem):
    problem = draw_problem(n=150, weights=True)
    model = fit(problem, Law(), plain_start(problem, Law()))
    cluster = np.arange(150) // 5 if clustered else None
    X, w = problem.X, problem.weights
    scores = model.likelihood.scores(model.theta)[1]
    sure = errors(model.likelihood, model.theta, scores, cluster, partial(second_slope, problem))
    score = X * (problem.y - X @ model.theta[:3])[:, None]
    # A row of weight w counts as w rows.
    meat = score.T @ (score * w[:, None])
    if clustered:
        score = np.add.reduceat(score * w[:, None], np.arange(0, 150, 5))
        meat = score.T @ score
    bread = np.linalg.inv((X * w[:, None]).T @ X)
    expected = bread @ meat @ bread * problem.n / (problem.n - 4.0)
    # Slopes and sd of a normal law are uncorrelated in the curvature, not in the scores.
    np.testing.assert_allclose(sure.covariance[:3, :3], expected, rtol=2e-3)
    assert sure.se == pytest.approx(np.sqrt(expected[1, 1]), rel=1e-3)
    assert sure.size == pytest.approx(model.theta[1])
    assert scores.shape == (150, 4)
    # At the maximum the scores sum to nothing.
    np.testing.assert_allclose(w @ scores, 0.0, atol=0.1)


def test_a_width_at_its_bound_is_held(draw_problem):
    # Where a likelihood would drive a width to nothing, its curvature is no error of anything.
    problem = replace(draw_problem(n=200), floor=3.0)
    model = fit(problem, Law(), plain_start(problem, Law()))
    at = model.likelihood.at
    assert model.theta[at.log_sigma][0] == pytest.approx(np.log(3.0))
    scores = model.likelihood.scores(model.theta)[1]
    sure = errors(model.likelihood, model.theta, scores, None, partial(second_slope, problem))
    assert (sure.covariance[at.log_sigma] == 0.0).all()
    assert (np.diag(sure.covariance)[at.b] > 0.0).all()
