"""The likelihood of every law: its gradient, its integral over the outcome, ranges and weights."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import norm

from proxycal.mixture.wide.law import Law
from proxycal.mixture.wide.likelihood import Likelihood

LAWS = [
    Law(),
    Law(scale="Em"),
    Law(components=2, scale="E"),
    Law(components=3, weights_by_content=True, own_slopes=True),
    Law(components=2, scale="Em", scale_by_component=True),
    Law(scale="E", skew=1.0),
    Law(scale="Em", skew=-0.7),
    Law(states=1),
    Law(states=1, gate="m"),
    Law(states=1, gate="E m", components=2, scale="E"),
    Law(states=1, gate="E Q", by_content=True),
    Law(states=1, gate="E Q m", spread=True),
    Law(states=1, gate="E y"),
    Law(states=1, gate="E y", by_content=True, components=2),
    Law(states=1, cv=0.7),
    Law(states=1, cv=1.0, gate="E m", components=2, scale="m", by_content=True),
    Law(states=2),
    Law(states=2, spread=True, by_content=True, gate="E m", components=2, scale="E"),
    Law(states=2, shared_gate=True),
    Law(states=3, shared_gate=True, spread=True, gate="E Q m", components=2),
    Law(states=1, cv=0.6, heavy=True, gate="E m"),
]
names = pytest.mark.parametrize("law", LAWS, ids=[law.label for law in LAWS])


@names
@pytest.mark.parametrize("ranged", [False, True], ids=["exact", "ranges"])
def test_the_gradient_is_that_of_the_value(law, ranged, draw_problem, draw_theta):
    problem = draw_problem(weights=True, ranged=ranged)
    likelihood, theta = Likelihood(problem, law), draw_theta(law, problem)
    numeric = approx_fprime(theta, lambda at: likelihood(at)[0], 1e-6)
    # One-sided differences: their error is the step times the curvature.
    np.testing.assert_allclose(likelihood(theta)[1], numeric, rtol=1e-3, atol=2e-3)


@names
def test_scores_are_the_slopes_of_each_row(law, draw_problem, draw_theta):
    problem = draw_problem(n=15, weights=True)
    likelihood, theta = Likelihood(problem, law), draw_theta(law, problem)
    seen, scores = likelihood.scores(theta)
    numeric = np.empty_like(scores)
    for i in range(len(theta)):
        up, down = theta.copy(), theta.copy()
        up[i], down[i] = theta[i] + 1e-5, theta[i] - 1e-5
        numeric[:, i] = (likelihood.seen(up).loglik - likelihood.seen(down).loglik) / 2e-5
    np.testing.assert_allclose(scores, numeric, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(seen.loglik, likelihood.seen(theta).loglik)


@names
@pytest.mark.parametrize("weights", [False, True], ids=["even", "weighted"])
def test_every_way_to_ask_for_slopes_gives_the_same(law, weights, draw_problem, draw_theta):
    problem = draw_problem(weights=weights, ranged=True)
    likelihood, theta = Likelihood(problem, law), draw_theta(law, problem)
    value, slopes, squares = likelihood.with_squares(theta)
    seen, again, others = likelihood.evaluate(theta)
    assert value == again == likelihood(theta)[0]
    np.testing.assert_array_equal(slopes, others)
    weighted = likelihood.scores(theta)[1] * problem.weights[:, None]
    ridge, pull = likelihood.penalty(theta)
    np.testing.assert_allclose(slopes, pull - weighted.sum(axis=0), atol=1e-9)
    np.testing.assert_allclose(squares, (weighted**2).sum(axis=0), rtol=1e-9, atol=1e-12)
    assert value == pytest.approx(ridge - problem.weights @ seen.loglik, rel=1e-12)


@names
def test_the_density_integrates_to_one_over_the_outcome(law, draw_problem, draw_theta):
    grid = np.linspace(-40.0, 60.0, 20_001)
    rows = draw_problem(n=1).take(np.zeros(len(grid), dtype=np.intp))
    likelihood = Likelihood(replace(rows, y=grid), law)
    density = np.exp(likelihood.seen(draw_theta(law, rows)).loglik)
    assert density.sum() * (grid[1] - grid[0]) == pytest.approx(1.0, abs=1e-6)


@names
def test_probabilities_of_ranges_that_tile_the_line_sum_to_one(law, draw_problem, draw_theta):
    if law.gate == "E y":
        pytest.skip("a gate by the true outcome is not tried on ranges")
    ends = np.r_[-np.inf, np.linspace(-6.0, 8.0, 29), np.inf]
    low, high = ends[:-1], ends[1:]
    rows = draw_problem(n=1).take(np.zeros(len(low), dtype=np.intp))
    rows = replace(rows, y=np.clip((low + high) / 2.0, -7.0, 9.0), low=low, high=high)
    width = np.where(np.isfinite(high - low), high - low, 1.0)
    density = np.exp(Likelihood(rows, law).seen(draw_theta(law, rows)).loglik)
    assert density @ width == pytest.approx(1.0, abs=1e-9)


@names
def test_weights_are_repeated_rows(law, draw_problem, draw_theta):
    problem = draw_problem(n=12)
    times = np.arange(12) % 3 + 1
    weighted = replace(problem, weights=times.astype(float))
    repeated = problem.take(np.repeat(np.arange(12), times))
    theta = draw_theta(law, problem)
    value, slope = Likelihood(weighted, law)(theta)
    again, other = Likelihood(repeated, law)(theta)
    assert value == pytest.approx(again)
    np.testing.assert_allclose(slope, other, atol=1e-10)


def test_the_posterior_of_the_cells_is_bayes_rule(draw_problem, draw_theta):
    problem, law = draw_problem(), Law(states=1)
    theta = draw_theta(law, problem)
    likelihood = Likelihood(problem, law)
    at, seen = likelihood.at, likelihood.seen(theta)
    mean, sd = problem.X @ theta[at.b], np.exp(theta[at.log_sigma][0])
    gate = theta[at.gamma]
    pi = 1.0 / (1.0 + np.exp(-(gate[0] + problem.E @ gate[1:])))
    biased = pi * norm.pdf(problem.y, mean + theta[at.alpha], sd)
    honest = (1.0 - pi) * norm.pdf(problem.y, mean, sd)
    np.testing.assert_allclose(seen.r[1, 0], biased / (biased + honest), rtol=1e-9)
    np.testing.assert_allclose(seen.loglik, np.log(biased + honest), rtol=1e-9)


@pytest.mark.parametrize("law", [law for law in LAWS if law.states], ids=lambda law: law.label)
def test_trusted_rows_have_the_density_of_the_unbiased(law, draw_problem, draw_theta):
    problem = draw_problem(weights=True)
    trusted = np.arange(len(problem.y)) % 3 == 0
    known, theta = Likelihood(replace(problem, trusted=trusted), law), draw_theta(law, problem)
    seen, blind = known.seen(theta), Likelihood(problem, law).seen(theta)
    assert seen.r[1:, :, trusted].max() < 1e-100
    np.testing.assert_allclose(seen.loglik[~trusted], blind.loglik[~trusted], rtol=1e-12)
    cells = seen.cells
    sd = np.sqrt(cells.variance[0])
    content = norm.pdf(cells.left[0], 0.0, sd) * np.exp(cells.log_weight)
    np.testing.assert_allclose(seen.loglik[trusted], np.log(content.sum(axis=0))[trusted], rtol=1e-9)
    numeric = approx_fprime(theta, lambda at: known(at)[0], 1e-6)
    np.testing.assert_allclose(known(theta)[1], numeric, rtol=1e-3, atol=2e-3)
