"""Orthonormal features: what they are, what they ignore, and how they come back from a file."""

import json

import numpy as np
import pytest
from sklearn.preprocessing import SplineTransformer

from proxycal.mixture.features import N_KNOTS, Basis, bends, fit_basis, left_of, spline_knots, splines


@pytest.fixture
def columns():
    rng = np.random.default_rng(0)
    return rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3)) + 5.0


def plain(columns):
    return np.zeros(columns.shape[1], bool)


def spanned(X):
    """The projection onto the columns of X: what a least-squares fit depends on."""
    return X @ np.linalg.pinv(X)


@pytest.mark.parametrize("splined", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_features_are_orthonormal_in_the_weighted_rows(columns, splined, weighted):
    weights = np.random.default_rng(1).uniform(0.2, 4.0, 200) if weighted else np.ones(200)
    X = fit_basis(columns, np.full(3, splined), weights)(columns)
    gram = (X.T * weights) @ X / weights.sum()
    np.testing.assert_allclose(gram, np.eye(X.shape[1]), atol=1e-9)
    np.testing.assert_array_equal(X[:, 0], 1.0)


def test_features_span_the_columns_and_nothing_else(columns):
    X = fit_basis(columns, plain(columns), np.ones(200))(columns)
    assert X.shape == (200, 4)
    np.testing.assert_allclose(spanned(X), spanned(np.column_stack([np.ones(200), columns])), atol=1e-9)


def test_units_and_mixtures_of_the_columns_change_nothing_but_a_rotation(columns):
    X = fit_basis(columns, plain(columns), np.ones(200))(columns)
    moved = columns * [1000.0, 1e-3, -2.0] + [1e4, 0.0, 7.0]
    mixed = columns @ np.array([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0], [3.0, 0.0, 1.0]])
    for other in (moved, mixed):
        Y = fit_basis(other, plain(other), np.ones(200))(other)
        np.testing.assert_allclose(spanned(X), spanned(Y), atol=1e-7)
        turn = X.T @ Y / 200.0
        np.testing.assert_allclose(turn @ turn.T, np.eye(4), atol=1e-7)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_copies_sums_and_constants_are_dropped_whatever_their_units(columns, scale):
    extra = np.column_stack([columns, scale * columns[:, 0], columns.sum(axis=1), np.full(200, 3.0)])
    X = fit_basis(extra, plain(extra), np.ones(200))(extra)
    assert X.shape == (200, 4)
    np.testing.assert_allclose(X.T @ X / 200.0, np.eye(4), atol=1e-8)


def test_whole_weights_are_repeated_rows(columns):
    times = np.random.default_rng(2).integers(1, 4, 200)
    weighted = fit_basis(columns, plain(columns), times.astype(float))
    repeated = np.repeat(columns, times, axis=0)
    other = fit_basis(repeated, plain(columns), np.ones(len(repeated)))
    np.testing.assert_allclose(np.abs(weighted(columns)), np.abs(other(columns)), atol=1e-9)


def test_no_columns_is_an_intercept():
    nothing = np.empty((5, 0))
    np.testing.assert_array_equal(fit_basis(nothing, np.zeros(0, bool), np.ones(5))(nothing), np.ones((5, 1)))


def test_a_spline_fits_a_curve_that_a_line_misses():
    x = np.linspace(-2.0, 2.0, 400)[:, None]
    y = np.sin(1.5 * x[:, 0])
    left = {}
    for splined in (False, True):
        X = fit_basis(x, np.array([splined]), np.ones(400))(x)
        left[splined] = np.std(y - X @ np.linalg.lstsq(X, y, rcond=None)[0])
    assert left[True] < 0.05
    assert left[False] > 0.3


def test_splines_hold_the_line_and_continue_straight_beyond_the_rows():
    x = np.linspace(0.0, 1.0, 200)[:, None]
    basis = fit_basis(x, np.array([True]), np.ones(200))
    X = basis(x)
    assert np.std(x[:, 0] - X @ np.linalg.lstsq(X, x[:, 0], rcond=None)[0]) < 1e-9
    beyond = basis(np.array([[2.0], [3.0], [4.0]]))
    np.testing.assert_allclose(beyond[2] - beyond[1], beyond[1] - beyond[0], atol=1e-8)
    assert np.abs(beyond[1] - beyond[0]).max() > 1.0
    assert np.isfinite(basis(np.array([[-1e6], [1e6]]))).all()


def test_coarse_columns_stay_linear():
    rng = np.random.default_rng(3)
    assert spline_knots(rng.integers(0, 5, 500).astype(float), np.ones(500)) is None
    assert spline_knots(np.r_[np.zeros(450), rng.normal(size=50)], np.ones(500)) is None
    knots = spline_knots(rng.normal(size=500), np.ones(500))
    assert len(knots) == N_KNOTS
    assert list(knots) == sorted(knots)


def test_knots_follow_the_units(columns):
    knots = np.array(spline_knots(columns[:, 0], np.ones(len(columns))))
    np.testing.assert_allclose(
        spline_knots(1000.0 * columns[:, 0] - 4.0, np.ones(len(columns))), 1000.0 * knots - 4.0, rtol=1e-12
    )


def test_state_comes_back_through_json(columns):
    basis = fit_basis(columns, np.array([True, False, True]), np.ones(200))
    values, arrays = basis.state()
    again = Basis.from_state(json.loads(json.dumps(values)), arrays)
    new = np.random.default_rng(4).normal(size=(20, 3)) + 5.0
    np.testing.assert_array_equal(again(new), basis(new))
    assert again.knots == basis.knots


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e8])
def test_splines_are_those_of_scikit_learn(unit):
    column = unit * np.random.default_rng(2).normal(size=300)
    knots = np.quantile(column, [0.1, 0.3, 0.7, 0.9])
    theirs = SplineTransformer(degree=3, knots=knots[:, None], extrapolation="linear", include_bias=False)
    np.testing.assert_array_equal(
        splines(column, tuple(knots)), theirs.fit(knots[:, None]).transform(column[:, None])
    )


@pytest.mark.parametrize("draw", ["normal", "standard_cauchy"])
def test_bends_and_the_column_span_its_splines(draw):
    column = 30.0 + getattr(np.random.default_rng(7), draw)(size=400)
    knots = spline_knots(column, np.ones(400))
    outcomes = np.stack([np.sin(column), np.random.default_rng(8).normal(size=400)])
    cheap, taken = left_of(np.column_stack([column, bends(column, knots)]), outcomes, np.ones(400))
    exact, of_splines = left_of(splines(column, knots), outcomes, np.ones(400))
    np.testing.assert_allclose(cheap, exact, rtol=1e-6)
    assert taken == of_splines == 1 + N_KNOTS + 1


def test_knots_of_equal_weights_are_those_of_any_weights():
    column = np.random.default_rng(9).normal(size=101)
    np.testing.assert_array_equal(spline_knots(column, np.ones(101)), spline_knots(column, np.full(101, 2.0)))


@pytest.mark.parametrize("collinear", [False, True])
def test_what_columns_leave_is_what_least_squares_leaves(collinear):
    rng = np.random.default_rng(4)
    columns, outcomes = rng.normal(size=(90, 4)) * [1.0, 30.0, 1e-3, 1.0] + 5.0, rng.normal(size=(2, 90))
    outcomes[1] += columns[:, 1]
    if collinear:
        columns = np.column_stack([columns, columns[:, 0] - 2.0 * columns[:, 3], np.full(90, 7.0)])
    weights = rng.uniform(0.2, 3.0, size=90)
    variance, taken = left_of(columns, outcomes, weights)
    root = np.sqrt(weights)[:, None]
    X = np.column_stack([np.ones(90), columns])
    slopes = np.linalg.lstsq(X * root, outcomes.T * root, rcond=None)[0]
    wanted = weights @ (outcomes.T - X @ slopes) ** 2 / weights.sum()
    np.testing.assert_allclose(variance, wanted, rtol=1e-8)
    assert taken == 5
