"""The basis: what its columns can and cannot express, and that it is frozen."""

import json

import numpy as np
import pytest
from scipy.integrate import quad

from proxycal.errors import SettingsError, TableError
from proxycal.methods.gradual.basis import LEVEL_ROWS, OTHER, Basis, fit_basis, weighted_quantile


@pytest.fixture
def columns():
    rng = np.random.default_rng(0)
    return {"x": rng.normal(size=600), "g": rng.integers(0, 4, size=600)}


def residual(design, target):
    design = np.column_stack([np.ones(len(design)), design])
    return target - design @ np.linalg.lstsq(design, target, rcond=None)[0]


def test_a_spline_holds_lines_and_bends(columns):
    basis = fit_basis(columns, {"x": "spline"}).transform(columns)
    assert np.abs(residual(basis, 3.0 - 2.0 * columns["x"])).max() < 1e-8
    assert residual(basis, np.sin(columns["x"])).std() < 0.02
    assert residual(basis[:, :1], np.sin(columns["x"])).std() > 0.1


def test_a_spline_is_straight_beyond_its_outer_knots(columns):
    basis = fit_basis(columns, {"x": "spline"})
    far = basis.transform({"x": np.array([10.0, 11.0, 12.0]), "g": np.zeros(3)})
    np.testing.assert_allclose(far[2] - far[1], far[1] - far[0], rtol=1e-6)


def test_the_roughness_of_the_bends_is_their_sum_of_squares(columns):
    basis = fit_basis(columns, {"x": "spline"})
    term = basis.terms[0]
    coefficients = np.random.default_rng(1).normal(size=len(term.knots) - 2)

    def curve(t):
        return (term.columns(np.array([t * term.scale + term.center]))[0, 1:] @ coefficients).item()

    def squared_curvature(t, h=1e-3):
        return ((curve(t + h) - 2.0 * curve(t) + curve(t - h)) / h**2) ** 2

    rough = sum(
        quad(squared_curvature, low, high, limit=100)[0]
        for low, high in zip(term.knots[:-1], term.knots[1:], strict=True)
    )
    assert rough == pytest.approx(coefficients @ coefficients, rel=0.02)


def test_categories_have_a_column_for_each_level_but_the_most_common(columns):
    basis = fit_basis(columns, {"g": "category"})
    rows = basis.transform(columns)
    reference = basis.terms[0].levels[0]
    assert reference == np.bincount(columns["g"]).argmax()
    assert rows.sum(axis=1)[columns["g"] == reference].max() == 0.0
    assert (rows.sum(axis=1)[columns["g"] != reference] == 1.0).all()


def test_rare_levels_share_a_column_and_new_levels_join_them():
    codes = np.r_[np.zeros(100), np.ones(50), np.full(LEVEL_ROWS - 1, 2), np.full(3, 3)].astype(int)
    basis = fit_basis({"g": codes}, {"g": "category"})
    assert basis.terms[0].levels.tolist() == [0, 1, OTHER]
    assert basis.transform({"g": np.array([0, 1, 2, 3, 99])}).tolist() == [
        [0, 0],
        [1, 0],
        [0, 1],
        [0, 1],
        [0, 1],
    ]


def test_a_rare_level_alone_takes_in_the_next_so_that_the_shared_column_has_rows():
    codes = np.r_[np.zeros(100), np.ones(50), np.full(3, 2)].astype(int)
    levels = fit_basis({"g": codes}, {"g": "category"}).terms[0].levels
    assert levels.tolist() == [0, OTHER]


def test_a_level_never_seen_has_no_bias_to_give(columns):
    rows = fit_basis(columns, {"g": "category"}).transform({"g": np.array([0, 7])})
    assert np.isfinite(rows[0]).all()
    assert np.isnan(rows[1]).all()


def test_interactions_are_products_of_columns(columns):
    basis = fit_basis(columns, {"x": "linear", "g": "category"}, [("x", "g")])
    rows = basis.transform(columns)
    assert basis.owners == ["x", "g", "g", "g", "x:g", "x:g", "x:g"]
    np.testing.assert_allclose(rows[:, 4:], rows[:, :1] * rows[:, 1:4])


def test_the_state_is_plain_and_gives_the_same_rows(columns):
    basis = fit_basis(columns, {"x": "spline", "g": "category"}, [("x", "g")]).without(
        np.arange(9 + 1 + 7 * 3) == 2
    )
    values, arrays = basis.to_state()
    again = Basis.from_state(json.loads(json.dumps(values)), arrays)
    new = {"x": np.linspace(-5, 5, 9), "g": np.arange(9) % 4}
    np.testing.assert_array_equal(again.transform(new), basis.transform(new))
    assert again.owners == basis.owners


def test_a_column_with_two_values_stays_straight():
    basis = fit_basis({"x": np.arange(300) % 2}, {"x": "spline"})
    assert basis.transform({"x": np.array([0.0, 1.0])}).shape == (2, 1)


def test_quantiles_by_weight_are_those_of_repeated_rows():
    values, counts = np.array([3.0, 1.0, 2.0, 5.0]), np.array([400, 100, 200, 300])
    shares = np.array([0.05, 0.5, 0.9])
    np.testing.assert_allclose(
        weighted_quantile(values, shares, counts.astype(float)),
        weighted_quantile(values, shares, 7.0 * counts),
    )
    repeated = weighted_quantile(np.repeat(values, counts), shares, None)
    assert np.abs(repeated - np.quantile(np.repeat(values, counts), shares)).max() < 0.01


def test_mistakes_are_named(columns):
    with pytest.raises(SettingsError, match="'z', which is no environment column"):
        fit_basis(columns, {"x": "linear"}, [("x", "z")])
    with pytest.raises(TableError, match="'x' is constant"):
        fit_basis({"x": np.ones(30)}, {"x": "linear"})
    with pytest.raises(TableError, match="'x' is missing"):
        fit_basis(columns, {"x": "linear"}).transform({"g": columns["g"]})
    with pytest.raises(TableError, match="negative code"):
        fit_basis({"g": np.array([-1, 0, 1])}, {"g": "category"})
