"""Wider models at their maximum: against the EM engine, least squares and a general optimiser."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import Bounds, minimize

from proxycal.mixture.em import Rules, run
from proxycal.mixture.laws import Shape, posterior
from proxycal.mixture.maximise import newton_then_em, valued
from proxycal.mixture.minimise import minimise
from proxycal.mixture.select import floor_of
from proxycal.mixture.wide.curvature import curvature
from proxycal.mixture.wide.fit import Fitted, fit, plain_start, replaced, starts_from_guesses, with_extra
from proxycal.mixture.wide.law import Law, layout
from proxycal.mixture.wide.likelihood import Likelihood
from proxycal.mixture.wide.problem import Problem


@pytest.mark.parametrize("weights", [False, True], ids=["even", "weighted"])
def test_a_plain_bias_is_worth_what_the_engine_says(weights, draw_rows, draw_params):
    rows = draw_rows(n=400, seed=3, weights=weights)
    shape = Shape(1, shift=True)
    rules = Rules.of([shape], rows.X.shape[1], floor_of(shape, 0.05))
    params = run(draw_params(shape, rows), [rows], rules, max_steps=200, tol=1e-6).params
    params, converged = newton_then_em(params, [rows], rules)
    assert converged
    engine = valued(shape, params, [rows], float(rows.weights.sum()))
    problem = Problem(rows.y, rows.X, rows.G[:, 1:], np.zeros(len(rows.y)), rows.weights)
    tau = posterior(params, rows, shape).p_biased[0]
    model = fit(problem, Law(states=1), starts_from_guesses(problem, Law(states=1), [tau])[0])
    # Two optimisers stop within their tolerance of the same maximum.
    assert model.bic == pytest.approx(engine.bic, abs=0.01)
    assert model.theta[model.likelihood.at.alpha][0] == pytest.approx(params.a[0, 0], abs=0.01)


def test_without_a_bias_it_is_least_squares(draw_problem):
    problem = draw_problem(n=200, weights=True)
    model = fit(problem, Law(), plain_start(problem, Law()))
    root = np.sqrt(problem.weights)
    slopes = np.linalg.lstsq(problem.X * root[:, None], problem.y * root, rcond=None)[0]
    np.testing.assert_allclose(model.theta[model.likelihood.at.b], slopes, atol=1e-4)
    variance = np.average((problem.y - problem.X @ slopes) ** 2, weights=problem.weights)
    n = problem.weights.sum()
    assert model.bic == pytest.approx(n * (np.log(2 * np.pi * variance) + 1) + 4 * np.log(n), abs=1e-3)
    assert model.size == 4


def test_sizes_and_spreads_stay_within_their_bounds(draw_problem):
    problem = draw_problem(n=100)
    law = Law(states=1, spread=True)
    at = layout(law, 3, 2)
    start = np.zeros(at.size)
    start[at.alpha] = -3.0
    model = fit(problem, law, start)
    assert model.theta[at.alpha][0] >= 1e-3
    assert model.theta[at.log_sigma][0] >= np.log(problem.floor)


def test_what_was_charged_stays_charged(draw_problem):
    problem = draw_problem(n=100)
    model = with_extra(fit(problem, Law(), plain_start(problem, Law())), 7.0)
    again = replaced(model, replace(problem, y=problem.y + 1.0))
    assert isinstance(again, Fitted)
    assert again.bic == pytest.approx(model.bic, abs=1e-3)


@pytest.mark.parametrize(
    "law",
    [
        Law(components=2),
        Law(scale="Em"),
        Law(states=1),
        Law(states=1, components=2, gate="E m"),
        Law(states=1, spread=True, by_content=True),
        Law(states=1, cv=0.7),
        Law(states=2),
        Law(states=1, gate="E y"),
        Law(skew=1.0, scale="E"),
    ],
    ids=lambda law: law.label,
)
def test_a_minimum_is_what_a_general_optimiser_reaches(law, draw_problem, draw_theta):
    problem = draw_problem(n=300, weights=True)
    likelihood, start = Likelihood(problem, law), draw_theta(law, problem)
    at = likelihood.at
    lower, upper = np.full(at.size, -5.0), np.full(at.size, 5.0)
    lower[at.log_sigma], lower[at.alpha] = np.log(0.05), 1e-3
    start = np.clip(start, lower, upper)
    bend = curvature(likelihood, start, likelihood.with_squares(start)[2])
    mine, value = minimise(likelihood, start, lower, upper, bend, steps=500, precision=1e-14, gradient=1e-6)
    assert value == likelihood(mine)[0]
    # From the same start two ways may end at two minima; from where one ended, the other must not go on.
    other = minimize(
        likelihood,
        mine,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(lower, upper),
        options={"maxiter": 500, "ftol": 1e-14, "gtol": 1e-8},
    )
    assert likelihood(mine)[0] == pytest.approx(other.fun, abs=1e-5)
    assert np.all((mine >= lower) & (mine <= upper))
