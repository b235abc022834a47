"""Outcomes known as ranges: their probability, also far away and where ranges are narrow."""

from dataclasses import replace

import numpy as np
from scipy.stats import norm

from proxycal.mixture.wide.law import Law
from proxycal.mixture.wide.likelihood import Likelihood


def test_a_range_has_the_probability_of_the_normal_law(draw_problem, draw_theta):
    problem = draw_problem(ranged=True)
    theta = draw_theta(Law(), problem)
    mean, sd = problem.X @ theta[:3], np.exp(theta[3])
    p = norm.cdf(problem.high, mean, sd) - norm.cdf(problem.low, mean, sd)
    width = np.where(np.isfinite(problem.high - problem.low), problem.high - problem.low, 1.0)
    exact = problem.low == problem.high
    expected = np.where(
        exact, norm.logpdf(problem.y, mean, sd), np.log(np.where(exact, 1.0, p) / np.where(exact, 1.0, width))
    )
    np.testing.assert_allclose(Likelihood(problem, Law()).seen(theta).loglik, expected, rtol=1e-9)


def test_narrow_ranges_are_exact_values(draw_problem, draw_theta):
    problem, law = draw_problem(), Law(states=1, components=2)
    near = replace(problem, low=problem.y - 5e-4, high=problem.y + 5e-4)
    theta = draw_theta(law, problem)
    exact, ranged = (Likelihood(rows, law).seen(theta).loglik for rows in (problem, near))
    np.testing.assert_allclose(ranged, exact, atol=1e-5)


def test_rows_far_from_every_cell_have_a_finite_likelihood(draw_problem, draw_theta):
    problem, law = draw_problem(ranged=True), Law(states=1)
    far = replace(problem, y=problem.y + 500.0, low=problem.low + 500.0, high=problem.high + 500.0)
    value, slope = Likelihood(far, law)(draw_theta(law, far))
    assert np.isfinite(value)
    assert np.isfinite(slope).all()
