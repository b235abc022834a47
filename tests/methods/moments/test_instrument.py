"""The instrument against brute force: each row's value from a regression without that row."""

from __future__ import annotations

import numpy as np
import pytest

from proxycal.methods.moments.instrument import (
    MAX_BLOCKS,
    ROWS_PER_COLUMN,
    Basis,
    environment_basis,
    leave_out,
    partial_out,
    standardised,
)


@pytest.fixture
def drawn():
    rng = np.random.default_rng(0)
    E, w = rng.normal(size=(80, 3)), rng.integers(1, 4, 80).astype(float)
    E, _ = standardised(E, w)
    return E, w, E[:, 0] + rng.normal(size=80)


def test_standardised_columns_have_mean_0_and_sd_1_in_any_unit(drawn):
    E, w, _ = drawn
    v = np.column_stack([1e200 * (E[:, 0] + 3.0), 1e-200 * E[:, 1], np.full(80, 7.0)])
    made, sd = standardised(v, w)
    np.testing.assert_allclose(w @ made / w.sum(), 0.0, atol=1e-12)
    np.testing.assert_allclose(w @ made[:, :2] ** 2 / w.sum(), 1.0, rtol=1e-12)
    np.testing.assert_allclose(sd, [1e200, 1e-200, 1.0], rtol=1e-10)
    assert not made[:, 2].any()


def test_the_basis_is_orthonormal_and_has_the_squares_where_rows_pay_for_them(drawn):
    E, w, _ = drawn
    basis = environment_basis(E, w)
    assert basis.rich.shape == (80, 6)
    for Q in (basis.linear, basis.rich):
        np.testing.assert_allclose(Q.T @ (w[:, None] * Q), np.eye(Q.shape[1]), atol=1e-10)
    few = ROWS_PER_COLUMN * 6 - 1
    assert environment_basis(E, w * few / w.sum()).rich is None
    two_valued = np.where(E > 0, 1.0, -1.0)
    assert environment_basis(standardised(two_valued, w)[0], w).rich is None


def test_a_copy_of_a_column_adds_no_direction(drawn):
    E, w, _ = drawn
    assert environment_basis(np.column_stack([E, E[:, :1] - E[:, 1:2]]), w).linear.shape == (80, 3)


def test_partialling_out_leaves_the_residual_of_weighted_least_squares(drawn):
    E, w, u = drawn
    X = np.column_stack([np.ones(80), E])
    known = u - X @ np.linalg.solve(X.T @ (w[:, None] * X), X.T @ (w * u))
    np.testing.assert_allclose(partial_out(u, environment_basis(E, w).linear, w), known, atol=1e-10)


def test_leaving_a_row_out_is_a_regression_without_one_unit_of_it(drawn):
    E, w, u = drawn
    u = u - w @ u / w.sum()
    Q = environment_basis(E, w).linear
    made = leave_out(u, Basis(Q, None), w, None)
    for i in (0, 13, 79):
        less = w - (np.arange(80) == i)
        coefficients = np.linalg.solve(Q.T @ (less[:, None] * Q), Q.T @ (less * u))
        assert made[i] == pytest.approx(Q[i] @ coefficients, rel=1e-9)


def test_leaving_a_cluster_out_is_a_regression_on_the_others(drawn):
    E, w, u = drawn
    groups = np.arange(80) // 8
    Q = environment_basis(E, w).linear
    made = leave_out(u, Basis(Q, None), w, groups)
    for label in (0, 9):
        out = groups == label
        Q_in, w_in = Q[~out], w[~out]
        coefficients = np.linalg.solve(Q_in.T @ (w_in[:, None] * Q_in), Q_in.T @ (w_in * u[~out]))
        np.testing.assert_allclose(made[out], Q[out] @ coefficients, rtol=1e-8)
    assert len(np.unique(groups)) < MAX_BLOCKS


def test_squares_are_used_where_they_predict_and_not_where_they_do_not(drawn):
    E, w, _ = drawn
    basis = environment_basis(E, w)
    noise = np.random.default_rng(1).normal(size=80)
    for u, Q in ((E[:, 0] ** 2 - 1.0 + 0.1 * noise, basis.rich), (E[:, 0] + 0.1 * noise, basis.linear)):
        np.testing.assert_array_equal(leave_out(u, basis, w, None), leave_out(u, Basis(Q, None), w, None))


def test_a_row_that_decides_its_own_value_stays_at_the_mean():
    E = (np.arange(40) == 5).astype(float)[:, None]
    w = np.ones(40)
    E, _ = standardised(E, w)
    u = np.random.default_rng(0).normal(size=40)
    assert leave_out(u, environment_basis(E, w), w, None)[5] == 0.0
