"""What is asked of the covariance of the reduced form, from sums and from rows, against that covariance."""

import numpy as np
import pytest
from scipy.linalg import block_diag

from proxycal.methods.gradual.curvature import curvature_at
from proxycal.methods.gradual.moments import reduce, row_moments
from proxycal.methods.gradual.sampling import BAND, RowSampling, SummedSampling
from proxycal.methods.gradual.structure import fit_structure

N, N_PROXIES, WIDTH = 2 * BAND + 45, 4, 3
LOWER = np.tril_indices(N_PROXIES + 1)


@pytest.fixture(scope="module")
def table():
    """The reduced form of a table, both ways to its sampling error, and that error, (p, p)."""
    rng = np.random.default_rng(4)
    basis = rng.normal(size=(N, WIDTH))
    content = basis[:, :2] + rng.normal(size=(N, 2))
    proxies = content @ rng.normal(size=(2, N_PROXIES)) + 0.5 * rng.standard_t(5, size=(N, N_PROXIES))
    outcome = content @ [1.0, 0.5] + basis @ [0.3, 0.0, 0.6] + rng.normal(size=N)
    mass = rng.uniform(0.5, 2.0, size=N)
    reduced = reduce(row_moments(basis, proxies, outcome, mass))
    regressors = reduced.regressors(basis)
    values = np.column_stack([proxies, outcome])
    left = (values - reduced.mean) / reduced.scale - regressors @ reduced.slopes.T
    slopes = (left[:, :, None] * regressors[:, None, :]).reshape(N, -1)
    products = (left[:, :, None] * left[:, None, :] - reduced.resid)[:, LOWER[0], LOWER[1]]
    scores = mass[:, None] * np.hstack([slopes, products])
    covariance = scores.T @ scores
    ways = SummedSampling(covariance, WIDTH), RowSampling(left, regressors, mass, reduced.resid)
    return reduced, ways, covariance


@pytest.mark.parametrize("way", [0, 1])
@pytest.mark.parametrize("d", [0, 1, 2])
def test_what_the_parameters_leave(table, way, d):
    reduced, ways, covariance = table
    curvature = curvature_at(fit_structure(reduced, d))
    whole = block_diag(np.kron(curvature.of_slopes, np.eye(WIDTH)), curvature.of_resid)
    assert ways[way].trace(curvature) == pytest.approx(np.trace(whole @ covariance), rel=1e-10)
    within = curvature.weighted.T @ covariance @ curvature.weighted
    np.testing.assert_allclose(ways[way].within(curvature), within, atol=1e-9 * np.abs(within).max())
    # Any root will do; this one leaves out two directions, as rotations of content are left out.
    root = np.random.default_rng(d).normal(size=(len(within), len(within) - 2)) / len(within)
    left = whole - curvature.weighted @ root @ root.T @ curvature.weighted.T
    rest = ways[way].unexplained(curvature, root)
    assert rest.first == pytest.approx(np.trace(left @ covariance), rel=1e-9)
    assert rest.second == pytest.approx(np.trace(left @ covariance @ left @ covariance), rel=1e-9)
    both_sides = left @ covariance @ left
    for proxy in range(N_PROXIES):
        own = slice(WIDTH * proxy, WIDTH * (proxy + 1))
        np.testing.assert_allclose(
            rest.spread[proxy], both_sides[own, own], atol=1e-9 * np.abs(both_sides).max()
        )


@pytest.mark.parametrize("way", [0, 1])
def test_one_equation(table, way):
    _, ways, covariance = table
    contrast, others = np.array([-0.4, 0.0, 0.0, 0.2, 1.0]), [1, 2]
    # slopes' contrast and resid[others] contrast are linear in (slopes, lower triangle).
    linear = np.zeros((WIDTH + len(others), len(covariance)))
    linear[:WIDTH, : 5 * WIDTH] = np.kron(contrast, np.eye(WIDTH))
    for row, other in enumerate(others):
        for equation, times in enumerate(contrast):
            pair = (max(other, equation), min(other, equation))
            at = next(k for k, entry in enumerate(zip(*LOWER, strict=True)) if entry == pair)
            linear[WIDTH + row, 5 * WIDTH + at] += times
    np.testing.assert_allclose(
        ways[way].of_equation(contrast, others), linear @ covariance @ linear.T, rtol=1e-9, atol=1e-9
    )
    variances = covariance.diagonal()[: 5 * WIDTH]
    assert ways[way].slope_variance == pytest.approx(variances.mean())
