"""The exact estimator on arrays: known truth, and all that must not matter."""

from dataclasses import replace

import numpy as np
import pytest

from proxycal.mixture import compare as exact
from proxycal.mixture import designs
from proxycal.mixture.compare import fit_exact
from proxycal.mixture.designs import Data, candidate_frames
from proxycal.mixture.inference import orient
from proxycal.mixture.laws import Rows, Shape, content_mean, posterior
from proxycal.mixture.refits import refit_shifts
from proxycal.testing.worlds import draw_world


def data_of(world):
    numeric = np.arange(5 + world.E.shape[1]) < 10
    levels = None if world.level is None else {"level": world.level}
    return Data(world.y, world.P, world.E, np.ones(len(world.y)), numeric, world.cluster, levels)


def se_of(found):
    return np.sqrt(np.diag(found.shift_cov))


def assert_same(one, other, rtol, unit=1.0):
    """The numbers of two fits, the second in `unit`s of the first."""
    assert one.bias.shape == other.bias.shape
    np.testing.assert_allclose(other.shift / unit, one.shift, rtol=rtol)
    np.testing.assert_allclose(other.shift_cov / unit**2, one.shift_cov, rtol=10 * rtol, atol=1e-14)
    assert other.share == pytest.approx(one.share, rel=rtol)
    assert other.sigma / unit == pytest.approx(one.sigma, rel=rtol)
    assert other.gain == pytest.approx(one.gain, rel=rtol, abs=1e-5)


@pytest.fixture(scope="module")
def world():
    return draw_world("gaussian", 400, 3.0, seed=0)


@pytest.fixture(scope="module")
def found(world):
    return fit_exact(data_of(world), max_j=2)


@pytest.fixture(scope="module")
def zeros():
    return draw_world("zero-inflated", 300, 1.0, seed=1)


@pytest.fixture(scope="module")
def fits(world, found, zeros):
    """Data sets and their fits, by kind."""
    skewed = data_of(draw_world("exponential", 400, 3.0, seed=1))
    return {
        "gaussian": (data_of(world), found),
        "exponential": (skewed, fit_exact(skewed, max_j=2)),
        "zero-inflated": (data_of(zeros), fit_exact(data_of(zeros), max_j=2)),
    }


# --- known truth --------------------------------------------------------------------------------------------


def test_everything_about_a_gaussian_bias(world, found):
    assert found.gain > 20.0
    assert found.converged
    assert found.bias.shape.claims_bias
    assert not found.null.shape.claims_bias
    assert abs(found.shift[0] - world.alpha[0]) < 4.0 * se_of(found)[0]
    assert 0.02 < se_of(found)[0] / world.residual_sd < 0.3
    assert found.sigma == pytest.approx(world.residual_sd, rel=0.1)
    assert found.share == pytest.approx(world.a.mean(), abs=0.05)
    assert found.n_compared == 400
    assert found.cluster_sd == 0.0


def test_gain_is_the_difference_of_the_two_best_bics(found):
    claims = [candidate.bic for candidate in found.candidates if candidate.claims_bias]
    others = [candidate.bic for candidate in found.candidates if not candidate.claims_bias]
    assert found.gain == pytest.approx(min(others) - min(claims), abs=0.2)
    assert [candidate.bic for candidate in found.candidates] == sorted(
        candidate.bic for candidate in found.candidates
    )


def drawn(effect_of_e, alpha, n=2500):
    """An outcome with one proxy and two columns of E: the first acts on it, and says who is biased."""
    rng = np.random.default_rng(5)
    E = rng.normal(size=(n, 2))
    z = E @ [0.5, 0.5] + 0.8 * rng.normal(size=n)
    a = rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * E[:, 0]))
    y = z + effect_of_e(E[:, 0]) + alpha * a + 0.5 * rng.normal(size=n)
    P = z[:, None] + 0.3 * rng.normal(size=(n, 1))
    return Data(y, P, E, np.ones(n), np.ones(3, bool))


def test_the_curve_of_a_bias_along_e_is_content_only_to_models_without_one():
    found = fit_exact(drawn(lambda e: 0.0 * e, alpha=4.0))
    used = {claim: {c.frame.features for c in found.candidates if c.claims_bias == claim} for claim in (0, 1)}
    assert used == {0: {"linear", "splines of E"}, 1: {"linear"}}
    assert abs(found.shift[0] - 4.0) < 4.0 * se_of(found)[0]


def test_a_curve_of_e_that_is_no_bias_is_content_to_both():
    curved = fit_exact(drawn(np.square, alpha=4.0))
    assert "E" in curved.bias.frame.features
    assert abs(curved.shift[0] - 4.0) < 4.0 * se_of(curved)[0]
    # Of a step E alone decides who is above it: nobody could tell it from a bias.
    step = fit_exact(drawn(lambda e: 2.0 * (e > 0.5), alpha=0.0))
    assert step.bias.frame.features == step.null.frame.features != "linear"


def test_each_level_of_a_bias_that_differs():
    world = draw_world("alpha by level", 700, 1.5, seed=0)
    found = fit_exact(data_of(world), max_j=1)
    assert found.bias.frame.effect == "by:level"
    assert found.gain > 20.0
    wanted = np.array([world.alpha[world.level == k][0] for k in range(4)])
    assert (np.abs(found.shift - wanted) < 4.0 * se_of(found)).all()


def test_one_size_stays_one_size_where_levels_do_not_differ():
    world = draw_world("alpha by level", 700, 1.5, seed=1)
    flat = replace(world, y=world.y_true + 3.0 * world.residual_sd * world.a)
    found = fit_exact(data_of(flat), max_j=1)
    assert found.bias.frame.effect == "constant"
    assert found.shift[0] == pytest.approx(3.0 * world.residual_sd, abs=4.0 * se_of(found)[0])


def test_a_size_linear_in_the_environment():
    world = draw_world("gaussian", 800, 3.0, seed=2)
    alpha = world.residual_sd * (4.0 + 0.8 * world.E[:, 0] - 0.5 * world.E[:, 2])
    linear = replace(world, y=world.y_true + alpha * world.a)
    found = fit_exact(data_of(linear), effect="linear", max_j=1)
    rows = found.bias.frame.rows(data_of(linear))
    # The slopes in the encoded environment, from those in the orthonormal gate features.
    E = np.column_stack([np.ones(800), world.E])
    slopes, *_ = np.linalg.lstsq(E, rows.D, rcond=None)
    at, cov = slopes @ found.shift, slopes @ found.shift_cov @ slopes.T
    wanted = world.residual_sd * np.array([4.0, 0.8, 0.0, -0.5, 0.0, 0.0])
    assert (np.abs(at - wanted) < 4.0 * np.sqrt(np.diag(cov))).all()
    assert np.sqrt(np.diag(cov)).max() < 0.3 * world.residual_sd


def test_a_second_atom_that_the_environment_does_not_drive_is_no_bias():
    # No shape without a shift has two atoms that move together: only the same shift without a gate objects.
    world = draw_world("zero-inflated", 500, 0.0, seed=0)
    moved = np.random.default_rng(7).random(500) < 0.4
    found = fit_exact(data_of(replace(world, y=world.y_true + 3.0 * world.residual_sd * moved)), max_j=2)
    assert found.gain < 0.0
    assert found.null.shape.shift
    assert not found.null.shape.claims_bias
    assert found.shift[0] == pytest.approx(3.0 * world.residual_sd, rel=0.01)


def test_clusters_are_not_mistaken_for_a_bias_nor_hide_one():
    for alpha_sd in (0.0, 3.0):
        world = draw_world("clusters", 600, alpha_sd, seed=3)
        found = fit_exact(data_of(world), max_j=2)
        assert (found.gain > 0.0) == (alpha_sd > 0.0)
        if alpha_sd:
            assert abs(found.shift[0] - world.alpha[0]) < 4.0 * se_of(found)[0]
            assert found.cluster_sd == pytest.approx(0.4, rel=0.4)


# --- what must not matter -----------------------------------------------------------------------------------


def test_the_same_bytes_twice(world, found):
    again = fit_exact(data_of(world), max_j=2)
    for name in ("shift", "shift_cov", "gate_cov"):
        np.testing.assert_array_equal(getattr(again, name), getattr(found, name))
    assert (again.gain, again.share, again.sigma) == (found.gain, found.share, found.sigma)


@pytest.mark.parametrize("kind", ["gaussian", "exponential", "zero-inflated"])
def test_row_order_changes_no_digit(kind, fits):
    data, one = fits[kind]
    order = np.random.default_rng(1).permutation(len(data.y))
    other = fit_exact(data.take(order), max_j=2)
    np.testing.assert_array_equal(other.shift, one.shift)
    np.testing.assert_array_equal(other.shift_cov, one.shift_cov)
    assert other.gain == one.gain


def test_row_order_changes_no_digit_of_a_selection_on_a_sample(fits):
    data, _ = fits["zero-inflated"]
    order = np.random.default_rng(1).permutation(len(data.y))
    one, other = (fit_exact(d, max_j=2, compare_rows=150) for d in (data, data.take(order)))
    np.testing.assert_array_equal(other.shift, one.shift)
    np.testing.assert_array_equal(other.shift_cov, one.shift_cov)


@pytest.mark.parametrize(("unit", "offset"), [(1000.0, 0.0), (1e-3, 5.0), (1.0, 1e4)])
@pytest.mark.parametrize("kind", ["exponential", "zero-inflated"])
def test_units_of_the_outcome(kind, unit, offset, fits):
    data, one = fits[kind]
    other = fit_exact(replace(data, y=unit * data.y + offset), max_j=2)
    assert_same(one, other, 1e-8, unit)


def test_units_of_the_columns(world, found):
    data = data_of(world)
    scale = np.array([1000.0, 1e-3, -2.0, 1.0, 50.0])
    moved = replace(data, P=data.P * scale + 7.0, E=data.E * scale[::-1] - 100.0)
    assert_same(found, fit_exact(moved, max_j=2), 1e-7)


def test_linear_content_may_be_mixed(world):
    # Any invertible affine map of the proxies, and of the environment, spans the same content.
    data = replace(data_of(world), curved=np.zeros(10, bool))
    mix = np.random.default_rng(2).normal(size=(5, 5))
    one = fit_exact(data, max_j=1)
    assert_same(one, fit_exact(replace(data, P=data.P @ mix + 1.0, E=data.E @ mix.T), max_j=1), 1e-7)


def test_whole_weights_are_repeated_rows(world):
    data = replace(data_of(world), curved=np.zeros(10, bool))
    times = np.random.default_rng(3).integers(1, 4, size=400)
    weighted = fit_exact(replace(data, weights=times.astype(float)), max_j=1)
    repeated = fit_exact(data.take(np.repeat(np.arange(400), times)), max_j=1)
    assert_same(weighted, repeated, 1e-6)


def test_pieces_of_a_large_table_add_up(world, found, monkeypatch):
    monkeypatch.setattr(designs, "CHUNK", 64)
    assert_same(found, fit_exact(data_of(world), max_j=2), 1e-8)


def test_a_selection_on_a_sample_ends_on_all_rows(world, found):
    for seed in (0, 1):
        sampled = fit_exact(data_of(world), max_j=1, compare_rows=200, seed=seed)
        assert sampled.n_compared == 200
        assert_same(found, replace(sampled, gain=found.gain), 1e-6)
    assert sampled.gain > 0.0


def test_leaders_that_meet_on_a_part_end_on_all_rows(world, found, monkeypatch):
    monkeypatch.setattr(exact, "JUDGE_ROWS", 150)
    met = fit_exact(data_of(world), max_j=1, compare_rows=200)
    assert_same(found, replace(met, gain=found.gain), 1e-6)


def test_swapped_labels_are_turned_back(world, found):
    data = data_of(world)
    rows = found.bias.frame.rows(data)
    params = found.bias.params
    beta = params.beta.copy()
    beta[:, :, 0] += params.a[0, 0]
    swapped = replace(params, beta=beta, a=-params.a, gamma=-params.gamma)
    back = orient(swapped, [rows])
    np.testing.assert_allclose(back.flat(), params.flat(), atol=1e-10)
    assert orient(params, [rows]) is params


def test_swapped_labels_of_a_size_by_level_fit_alike_when_turned_back():
    world = draw_world("alpha by level", 300, 1.5, seed=0)
    data = data_of(world)
    rows = candidate_frames(data, "by:level")["linear"].rows(data)
    shape = Shape(1, shift=True)
    rng = np.random.default_rng(4)
    p, q = rows.X.shape[1], rows.G.shape[1]
    like = designs.Params(
        rng.normal(size=(1, 1, p)),
        np.zeros((1, 1)),
        np.zeros((1, 1, p)),
        np.zeros((1, q)),
        -np.array([[0.5, 1.0, 1.5, 2.0]]),
        rng.normal(size=(1, q)),
    )
    back = orient(like, [rows])
    np.testing.assert_array_equal(back.a, -like.a)
    one, other = posterior(like, rows, shape), posterior(back, rows, shape)
    np.testing.assert_allclose(other.loglik, one.loglik, atol=1e-8)
    np.testing.assert_allclose(other.p_biased, 1.0 - one.p_biased, atol=1e-8)


# --- pieces -------------------------------------------------------------------------------------------------


def test_content_mean_weighs_the_components(draw_rows, draw_params):
    shape = Shape(3, "own", "content")
    rows = draw_rows(n=20)
    params = draw_params(shape, rows)
    made = content_mean(params, rows, posterior(params, rows, shape))
    weights = np.exp(rows.X @ params.omega[0].T)
    weights /= weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(made, (weights * (rows.X @ params.beta[0].T)).sum(axis=1), atol=1e-12)


def test_refits_with_weights_of_one_change_nothing_and_those_of_rows_are_repeats(world, found):
    data = data_of(world)
    times = np.random.default_rng(6).integers(1, 3, size=400).astype(float)
    made = refit_shifts(found, data, np.stack([np.ones(400), times]))
    assert made.shape == (2, 1)
    assert made[0, 0] == pytest.approx(found.shift[0], rel=1e-6)
    again = data.take(np.repeat(np.arange(400), times.astype(int)))
    assert made[1, 0] == pytest.approx(
        refit_shifts(replace(found, offset=np.zeros(len(again.y))), again, np.ones((1, len(again.y))))[0, 0],
        rel=1e-6,
    )
    assert abs(made[1, 0] - made[0, 0]) > 1e-4 * made[0, 0]


def test_rows_are_what_the_frame_says(world, found):
    rows = found.bias.frame.rows(data_of(world))
    assert isinstance(rows, Rows)
    np.testing.assert_array_equal(rows.D, np.ones((400, 1)))
    np.testing.assert_allclose(rows.G.T @ rows.G / 400.0, np.eye(6), atol=1e-9)


@pytest.mark.parametrize(("kind", "alpha"), [("gaussian", 0.0), ("exponential", 3.0), ("zero-inflated", 3.0)])
def test_whole_weights_are_repeated_rows_over_the_whole_comparison(kind, alpha):
    world = draw_world(kind, 300, alpha, seed=4)
    times = np.random.default_rng(4).integers(1, 4, size=300)
    data = data_of(world)
    weighted = fit_exact(replace(data, weights=times.astype(float)))
    repeated = fit_exact(data.take(np.repeat(np.arange(300), times)))
    assert weighted.bias.shape == repeated.bias.shape
    assert weighted.null.shape == repeated.null.shape
    np.testing.assert_allclose(weighted.shift, repeated.shift, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(weighted.shift_cov, repeated.shift_cov, rtol=1e-4)
    assert weighted.gain == pytest.approx(repeated.gain, rel=1e-6)
