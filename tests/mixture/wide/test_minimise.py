"""The minimiser inside a box: against scipy's on the same functions, at its bounds, and when to stop."""

import numpy as np
import pytest
from scipy.optimize import Bounds, minimize

from proxycal.mixture.wide.curvature import curvature
from proxycal.mixture.wide.law import Law
from proxycal.mixture.wide.likelihood import Likelihood
from proxycal.mixture.wide.minimise import minimise

EVERYWHERE = np.inf


def rosenbrock(x):
    value = 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2
    slope = -400.0 * x[0] * (x[1] - x[0] ** 2) - 2.0 * (1.0 - x[0])
    return value, np.array([slope, 200.0 * (x[1] - x[0] ** 2)])


def solve(function, start, lower=-EVERYWHERE, upper=EVERYWHERE, **options):
    start = np.asarray(start, dtype=float)
    settings = {"curvature": np.ones(len(start)), "steps": 200, "precision": 1e-15, "gradient": 1e-9}
    ends = [np.broadcast_to(np.asarray(end, dtype=float), start.shape) for end in (lower, upper)]
    return minimise(function, np.clip(start, *ends), *ends, **(settings | options))[0]


def test_a_curved_valley_is_followed_to_its_end():
    np.testing.assert_allclose(solve(rosenbrock, [-1.2, 1.0]), [1.0, 1.0], atol=1e-6)


def test_a_quadratic_function_with_its_own_curvature_takes_one_step():
    bend, calls = np.array([1.0, 50.0, 2_000.0]), []

    def bowl(x):
        calls.append(x)
        return 0.5 * float(bend @ (x - 3.0) ** 2), bend * (x - 3.0)

    np.testing.assert_allclose(solve(bowl, np.zeros(3), curvature=bend), 3.0)
    assert len(calls) == 2


def test_a_bound_holds_one_parameter_and_frees_the_others():
    found = solve(rosenbrock, [-1.2, 1.0], upper=[0.5, EVERYWHERE])
    np.testing.assert_allclose(found, [0.5, 0.25], atol=1e-7)


def test_a_start_at_a_bound_leaves_it_where_the_slope_says_so():
    found = solve(lambda x: (float((x - 2.0) @ (x - 2.0)), 2.0 * (x - 2.0)), [0.0, 5.0], lower=0.0, upper=5.0)
    np.testing.assert_allclose(found, 2.0)


def test_a_start_outside_begins_at_the_bound():
    seen = []

    def flat(x):
        seen.append(x.copy())
        return 0.0, np.zeros(2)

    np.testing.assert_array_equal(solve(flat, [-9.0, 9.0], lower=-1.0, upper=1.0), [-1.0, 1.0])
    assert len(seen) == 1


def test_a_place_without_a_value_is_not_taken():
    def wall(x):
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(x[0] - np.log(x[0])), 1.0 - 1.0 / x

    # The first step, by a curvature far too small, leads beyond zero, where the logarithm has no value.
    np.testing.assert_allclose(solve(wall, [3.0], curvature=np.array([0.05])), [1.0], atol=1e-6)


@pytest.mark.parametrize("steps", [1, 4])
def test_it_takes_no_more_steps_than_allowed(steps):
    places = [solve(rosenbrock, [-1.2, 1.0], steps=most) for most in (steps, steps + 1)]
    assert rosenbrock(places[1])[0] < rosenbrock(places[0])[0] < rosenbrock([-1.2, 1.0])[0]


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
def test_it_reaches_what_a_general_optimiser_reaches(law, draw_problem, draw_theta):
    problem = draw_problem(n=300, weights=True)
    likelihood, start = Likelihood(problem, law), draw_theta(law, problem)
    at = likelihood.at
    lower, upper = np.full(at.size, -5.0), np.full(at.size, 5.0)
    lower[at.log_sigma], lower[at.alpha] = np.log(0.05), 1e-3
    start = np.clip(start, lower, upper)
    bend = curvature(likelihood, start, likelihood.seen(start))
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
