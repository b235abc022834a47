"""The likeliest structure: gradient and information, the same maximum from anywhere, known answers."""

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize

from proxycal.methods.gradual.moments import reduce, row_moments
from proxycal.methods.gradual.sampling import SummedSampling
from proxycal.methods.gradual.structure import (
    LEAST_ERROR,
    fit_structure,
    foretold,
    information,
    objective,
    settle,
)
from proxycal.methods.gradual.tsls import fit_tsls


def reduced_of(seed=0, n=1500, noise=0.6):
    rng = np.random.default_rng(seed)
    e = rng.normal(size=(n, 4))
    z = e @ np.array([[0.6, -0.3, 0.3, 0.0], [0.0, 0.5, 0.4, -0.3]]).T + 0.8 * rng.normal(size=(n, 2))
    loadings = np.array([[1.0, 0.3, 0.8, 0.6], [0.2, 1.0, -0.5, 0.7]])
    proxies = z @ loadings + noise * rng.normal(size=(n, 4))
    outcome = z @ [1.5, 1.0] + e[:, 0] + 0.7 * rng.normal(size=n)
    return reduce(row_moments(e, proxies, outcome))


def values_of(structure):
    return np.r_[structure.loadings.ravel(), structure.errors]


def observed_of(reduced):
    return reduced.resid, reduced.slopes[:-1] @ reduced.slopes[:-1].T


def test_the_gradient_is_right():
    reduced = reduced_of(n=300)
    rng = np.random.default_rng(2)
    at = np.concatenate([0.5 * rng.normal(size=10), rng.uniform(0.3, 0.8, size=5)])
    observed = observed_of(reduced)
    error = check_grad(lambda v: objective(v, *observed, 2)[0], lambda v: objective(v, *observed, 2)[1], at)
    assert error < 1e-4


def test_information_is_the_curvature_where_the_structure_holds():
    structure = settle(fit_structure(reduced_of(seed=1), 2), reduced_of(seed=1))
    # Moments that the structure explains exactly: there expected and actual curvature are the same.
    slopes = structure.loadings[:-1] @ structure.gamma
    observed = structure.implied, slopes @ slopes.T
    at = values_of(structure)
    step = 1e-5 * np.eye(len(at))
    actual = np.array([
        (objective(at + h, *observed, 2)[1] - objective(at - h, *observed, 2)[1]) / 2e-5 for h in step
    ])  # fmt: skip
    np.testing.assert_allclose(information(at, observed[1], 2), actual, atol=1e-5)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_no_general_optimiser_comes_further(d):
    reduced = reduced_of(seed=3, n=400)
    structure = settle(fit_structure(reduced, d), reduced)
    observed, k1 = observed_of(reduced), len(reduced.resid)
    rng, values = np.random.default_rng(0), []
    bounds = [(None, None)] * (k1 * d) + [(LEAST_ERROR, None)] * k1
    for start in [values_of(structure), *(0.5 * rng.normal(size=(6, k1 * (d + 1))))]:
        start[k1 * d :] = np.clip(np.abs(start[k1 * d :]), 0.2, 1.0)
        options = {"maxiter": 5_000, "maxfun": 50_000, "ftol": 1e-14, "gtol": 1e-8}
        values.append(
            minimize(objective, start, (*observed, d), jac=True, bounds=bounds, options=options).fun
        )
    mine = objective(values_of(structure), *observed, d)[0]
    assert mine <= min(values) + 1e-8


def test_a_proxy_without_noise_stays_at_the_least_error():
    structure = settle(fit_structure(reduced_of(noise=1e-3), 2), reduced_of(noise=1e-3))
    assert structure.errors.min() == pytest.approx(LEAST_ERROR)
    assert structure.settled
    assert np.isfinite(structure.distance)


def test_one_content_and_two_proxies_is_two_stage_least_squares_when_it_is_just_identified():
    # Without instruments in E (one column that moves nothing) both use the same three covariances.
    rng = np.random.default_rng(5)
    z = rng.normal(size=400)
    data = (
        rng.normal(size=(400, 1)),
        z[:, None] + 0.5 * rng.normal(size=(400, 2)),
        2.0 * z + rng.normal(size=400),
    )
    reduced = reduce(row_moments(*data))
    slopes = reduced.slopes.copy()
    slopes[:-1] = 0.0
    object.__setattr__(reduced, "slopes", slopes)
    structure = settle(fit_structure(reduced, 1), reduced)
    both = fit_tsls(reduced, (0,), SummedSampling(np.eye(3 + 6), 1), 400)
    ratio = structure.loadings[-1, 0] / structure.loadings[0, 0]
    assert ratio == pytest.approx(both.slopes[0], rel=1e-4)
    assert structure.distance == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("d", [1, 2])
def test_one_more_content_gains_about_what_is_foretold(d):
    rng = np.random.default_rng(8)
    e = rng.normal(size=(4000, 4))
    z = e @ rng.normal(size=(4, 2)) + rng.normal(size=(4000, 2))
    proxies = z @ rng.normal(size=(2, 6)) + rng.normal(size=(4000, 6))
    reduced = reduce(row_moments(e, proxies, z @ [1.0, 1.0] + rng.normal(size=4000)))
    fewer, more = (settle(fit_structure(reduced, contents), reduced) for contents in (d, d + 1))
    gained = fewer.distance - more.distance
    # With two contents there is no third to gain anything by.
    assert (gained > 0.1) == (d == 1)
    assert 0.3 * gained < foretold(fewer, reduced) < 1.5 * gained
