"""Least squares against numpy's, and where that fails."""

import numpy as np
import pytest

from proxycal.mixture.least_squares import least_squares
from proxycal.model import ProxyCalibrator
from proxycal.testing.worlds import draw_world


@pytest.mark.parametrize("outcomes", [None, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_slopes_are_numpys(outcomes, weighted):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 5)), rng.normal(size=40 if outcomes is None else (40, outcomes))
    X[:, 4] = X[:, 0] + X[:, 1]
    weights = rng.uniform(0.2, 3.0, size=40) if weighted else None
    root = np.ones(40) if weights is None else np.sqrt(weights)
    wanted = np.linalg.lstsq(X * root[:, None], (y.T * root).T, rcond=None)[0]
    np.testing.assert_allclose(least_squares(X, y, weights), wanted, atol=1e-12)


def test_a_direction_below_the_limit_gets_no_slope():
    X = np.diag([1.0, 1e-5])
    np.testing.assert_allclose(least_squares(X, np.ones(2), rcond=1e-4), [1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(least_squares(X, np.ones(2)), [1.0, 1e5])


@pytest.mark.parametrize("nothing", [[], [0.0]])
def test_columns_of_rounding_are_no_columns(nothing):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 3 + len(nothing))) * [1e3, 1.0, 1e-14, *nothing]
    y = rng.normal(size=(60, 2))
    wanted = np.linalg.lstsq(X[:, :2], y, rcond=None)[0]
    np.testing.assert_allclose(least_squares(X, y)[:2], wanted, rtol=1e-9)
    np.testing.assert_allclose(X @ least_squares(X, y), X[:, :2] @ wanted, atol=1e-9)


def test_units_of_the_columns_change_no_fitted_value():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    fitted = X @ np.linalg.lstsq(X, y, rcond=None)[0]
    for units in ([1.0, 1.0, 1.0], [30.0, 1.0, 0.02], [1e6, 1.0, 1e-3]):
        np.testing.assert_allclose((X * units) @ least_squares(X * units, y), fitted, rtol=1e-8)


def test_columns_that_are_orthonormal_but_for_rounding():
    # A table whose products of columns numpy's singular values do not converge for, on some processors.
    world = draw_world("exponential", 2000, 3.0, 2_800_142)
    model = ProxyCalibrator(world.roles, direction="over").fit(world.table())
    assert model.verdict_ == "bias found"
