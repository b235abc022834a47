"""Starts of EM: guesses of who is biased and of the components, on rows whose truth is known."""

from dataclasses import fields

import numpy as np
import pytest

from proxycal.mixture.designs import Data, candidate_frames
from proxycal.mixture.features import fit_basis
from proxycal.mixture.laws import Params, Rows, Shape
from proxycal.mixture.select import FLOOR
from proxycal.mixture.starts import (
    atoms,
    begin,
    guess_from_environment,
    guesses_from_atoms,
    guesses_of_bias,
    has_spike,
    residual_of,
    split_components,
)
from proxycal.testing.worlds import draw_world


def prepared(kind, alpha_sd, n=400):
    """The world, its linear rows in standardised units, and the proxies' own features."""
    world = draw_world(kind, n, alpha_sd, seed=0)
    data = Data(world.y, world.P, world.E, np.ones(n), np.arange(5 + world.E.shape[1]) < 10)
    rows = candidate_frames(data, "constant")["linear"].rows(data)
    return world, rows, fit_basis(data.P, np.zeros(5, bool), data.weights)(data.P)


@pytest.fixture(scope="module")
def gaussian():
    return prepared("gaussian", 3.0)


@pytest.fixture(scope="module")
def zeros():
    return prepared("zero-inflated", 1.0)


def test_atoms_are_values_that_many_rows_hold():
    y = np.r_[np.zeros(30), np.full(10, 2.5), np.random.default_rng(0).normal(size=60)]
    np.testing.assert_array_equal(atoms(y, np.ones(100)), [0.0, 2.5])
    heavy = np.r_[np.ones(30), np.full(10, 5.0), np.ones(60)]
    np.testing.assert_array_equal(atoms(y, heavy), [2.5, 0.0])
    assert len(atoms(y[40:], np.ones(60))) == 0


def test_a_pair_of_atoms_labels_the_rows_on_them(zeros):
    world, rows, _ = zeros
    guesses = guesses_from_atoms(rows)
    assert guesses
    on_zero = world.y_true == 0.0
    agree = [np.mean((tau > 0.5)[on] == world.a[on]) for tau, on in guesses if (on == on_zero).all()]
    assert agree == [1.0]


def test_guesses_of_bias_rank_the_residual(gaussian):
    _, rows, proxies = gaussian
    guesses = guesses_of_bias(rows, proxies)
    left = rows.y - rows.X @ np.linalg.lstsq(rows.X, rows.y, rcond=None)[0]
    for tau in guesses[: len(guesses) // 2]:
        assert (np.diff(tau[np.argsort(left)]) > 0.0).all()
    shares = [tau.mean() for tau in guesses[: len(guesses) // 2]]
    assert shares == sorted(shares)
    assert shares[0] < 0.25
    assert shares[-1] > 0.75


@pytest.mark.parametrize("how", ["place", "width", "atom"])
@pytest.mark.parametrize("J", [1, 2, 4])
def test_a_first_guess_of_components_leaves_none_empty(how, J, zeros):
    _, rows, _ = zeros
    r = split_components(rows.y, rows, J, how, None)
    assert r.shape == (J, 400)
    assert (r > 0.0).all()
    assert r.sum(axis=1).min() > 0.05 * 400 / J


def test_the_first_step_on_the_true_labels_is_least_squares_on_them(gaussian):
    world, rows, _ = gaussian
    made = begin([Shape(1, shift=True)], rows, np.ones((1, 1, 400)), world.a[None], FLOOR)
    both = np.column_stack([rows.X, world.a])
    wanted = np.linalg.lstsq(both, rows.y, rcond=None)[0]
    np.testing.assert_allclose(np.r_[made.beta[0, 0], made.a[0]], wanted, atol=1e-8)


@pytest.mark.parametrize("shift", [False, True], ids=["none", "shift"])
def test_the_first_steps_of_several_guesses_are_those_of_each_alone(shift, gaussian):
    _, rows, proxies = gaussian
    shapes = [Shape(2, means, shift=shift) for means in ("shared", "own", "shared")]
    r = np.stack([split_components(rows.y, rows, 2, how, None) for how in ("place", "place", "width")])
    tau = np.stack(guesses_of_bias(rows, proxies)[:3]) if shift else None
    together = begin(shapes, rows, r, tau, FLOOR)
    for i, shape in enumerate(shapes):
        alone = begin([shape], rows, r[i : i + 1], None if tau is None else tau[i : i + 1], FLOOR)
        for field in fields(Params):
            mine, own = getattr(together, field.name), getattr(alone, field.name)
            assert (mine is None) == (own is None)
            if own is not None:
                np.testing.assert_allclose(mine[i], own[0], atol=1e-9, err_msg=field.name)


def test_two_atoms_that_rounding_made_of_one_are_no_pair():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(200) < 120, np.where(np.arange(200) % 2, 1.0, 1.0 + 1e-12), rng.normal(size=200))
    E = rng.normal(size=(200, 1))
    one = np.ones((200, 1))
    rows = Rows(y, np.hstack([one, E]), np.hstack([one, E]), one, np.ones(200), None)
    assert guesses_from_atoms(rows) == []
    apart = Rows(np.where(y > 1.0, 2.0, y), rows.X, rows.G, rows.D, rows.weights, None)
    assert len(guesses_from_atoms(apart)) == 1


def test_a_spike_is_an_atom_or_a_spot_that_noise_has_smeared():
    rng = np.random.default_rng(0)
    y = rng.normal(size=600)
    ones = np.ones(600)
    assert not has_spike(y, ones)
    assert has_spike(np.where(np.arange(600) < 30, 0.0, y), ones)
    assert has_spike(np.where(np.arange(600) < 54, 0.01 * y, y), ones)


def test_the_residual_is_that_of_weighted_least_squares(gaussian):
    _, rows, _ = gaussian
    w = np.random.default_rng(0).uniform(0.5, 2.0, 400)
    root = np.sqrt(w)[:, None]
    slopes = np.linalg.lstsq(root * rows.X, root[:, 0] * rows.y, rcond=None)[0]
    np.testing.assert_allclose(residual_of(rows.X, rows.y, w), rows.y - rows.X @ slopes, atol=1e-10)
    both = residual_of(rows.X, np.vstack([rows.y, -rows.y]), w)
    np.testing.assert_allclose(both[0], -both[1], atol=1e-12)


def test_the_environment_helps_to_guess_who_is_biased(gaussian):
    world, rows, proxies = gaussian
    guess = guess_from_environment(rows, proxies)
    assert ((guess > 0.0) & (guess < 1.0)).all()
    assert guess[world.a == 1].mean() > guess[world.a == 0].mean() + 0.3
