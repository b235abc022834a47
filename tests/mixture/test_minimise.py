"""The minimiser inside a box: against known minima and scipy's, at its bounds, and when to stop."""

import numpy as np
import pytest
from scipy.optimize import Bounds, minimize

from proxycal.mixture.minimise import minimise

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


def test_what_is_known_of_the_start_is_not_asked_again():
    places = []

    def counted(x):
        places.append(x.copy())
        return rosenbrock(x)

    start = np.array([-1.2, 1.0])
    found = solve(counted, start, begun=rosenbrock(start))
    np.testing.assert_array_equal(found, solve(rosenbrock, start))
    assert not any((place == start).all() for place in places)


def test_a_trial_goes_on_only_below_its_value():
    start = [-1.2, 1.0]
    after = solve(rosenbrock, start, steps=5)
    reached = rosenbrock(after)[0]
    np.testing.assert_array_equal(solve(rosenbrock, start, trial=(5, 0.99 * reached)), after)
    np.testing.assert_array_equal(
        solve(rosenbrock, start, trial=(5, 1.01 * reached)), solve(rosenbrock, start)
    )


@pytest.mark.parametrize("seed", range(3))
def test_it_ends_where_scipy_ends_inside_a_box(seed):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(12, 6))
    centre, lower, upper = 2.0 * rng.normal(size=6), np.full(6, -1.0), np.full(6, 1.5)

    def function(x):
        left = factor @ (x - centre)
        return float(np.sum(np.cosh(0.5 * left))), 0.5 * np.sinh(0.5 * left) @ factor

    found = solve(function, np.zeros(6), lower, upper, steps=500)
    other = minimize(
        function,
        np.zeros(6),
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(lower, upper),
        options={"maxiter": 5000, "maxfun": 50_000, "ftol": 1e-15, "gtol": 1e-10},
    )
    assert ((other.x == lower) | (other.x == upper)).any()
    assert function(found)[0] == pytest.approx(other.fun, rel=1e-10)
    np.testing.assert_allclose(found, other.x, atol=1e-5)
