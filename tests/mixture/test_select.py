"""Selection of shapes: both kinds of model bring what they should, BIC is BIC, and the true shape leads."""

from dataclasses import replace

import numpy as np
import pytest

from proxycal.mixture.criterion import bic
from proxycal.mixture.designs import Data, candidate_frames, ways_of_content
from proxycal.mixture.em import Rules, run
from proxycal.mixture.features import fit_basis, left_of
from proxycal.mixture.laws import Shape, posterior
from proxycal.mixture.select import (
    FLOOR,
    choose_features,
    fit_shapes,
    floor_of,
    one_component,
    select_by_level,
    select_models,
    shapes,
)
from proxycal.mixture.starts import begin, guesses_of_bias, has_spike
from proxycal.testing.worlds import draw_world


def data_of(world):
    numeric = np.arange(5 + world.E.shape[1]) < 10
    levels = None if world.level is None else {"level": world.level}
    return Data(world.y, world.P, world.E, np.ones(len(world.y)), numeric, world.cluster, levels)


def prepared(kind, alpha_sd, n=400, seed=0, effect="constant"):
    """The world, its linear rows in standardised units, and the proxies' own features."""
    world = draw_world(kind, n, alpha_sd, seed)
    data = data_of(world)
    rows = candidate_frames(data, effect)["linear"].rows(data)
    return world, rows, fit_basis(data.P, np.zeros(5, bool), data.weights)(data.P)


def selected(shift, rows, proxies, max_j):
    """Every model with a bias, or without, best first."""
    return select_models(rows, one_component(shift, rows, proxies), FLOOR, np.inf, max_j)


@pytest.fixture(scope="module")
def gaussian():
    return prepared("gaussian", 3.0)


@pytest.fixture(scope="module")
def zeros():
    return prepared("zero-inflated", 1.0)


def test_bic_of_one_component_is_that_of_least_squares(gaussian):
    _, rows, proxies = gaussian
    null = one_component(False, rows, proxies)[0][0]
    left = rows.y - rows.X @ np.linalg.lstsq(rows.X, rows.y, rcond=None)[0]
    n, p = rows.X.shape
    by_hand = n * np.log(2 * np.pi * np.mean(left**2)) + n + (p + 1) * np.log(n)
    assert null.bic == pytest.approx(by_hand, abs=1e-4)


def test_loglik_of_a_model_is_that_of_its_parameters(gaussian):
    _, rows, proxies = gaussian
    for shift in (False, True):
        for model in selected(shift, rows, proxies, max_j=2):
            reached = posterior(model.params, rows, model.shape).loglik.sum()
            # What is reported is the value before the last step, which climbs a little further.
            assert -1e-6 < reached - model.loglik < 0.5
            assert model.bic == pytest.approx(bic(model.shape, model.loglik, model.params, 400.0))


# --- who runs -----------------------------------------------------------------------------------------------


def test_each_side_brings_its_own_models(gaussian):
    _, rows, proxies = gaussian
    without, with_bias = (selected(shift, rows, proxies, max_j=2) for shift in (False, True))
    assert not any(model.shape.shift for model in without)
    assert all(model.shape.claims_bias for model in with_bias)
    assert {model.shape.J for model in without} == {model.shape.J for model in with_bias} == {1, 2}
    for models, shift in ((without, False), (with_bias, True)):
        assert {model.shape for model in models} <= {*shapes(1, shift, rows), *shapes(2, shift, rows)}
        assert [model.bic for model in models] == sorted(model.bic for model in models)


@pytest.mark.parametrize(
    ("kind", "alpha_sd", "shift"),
    [("gaussian", 0.0, False), ("gaussian", 3.0, True), ("two-humped", 0.0, True)],
)
def test_what_a_score_test_rules_out_would_not_have_paid(kind, alpha_sd, shift):
    _, rows, proxies = prepared(kind, alpha_sd)
    first = one_component(shift, rows, proxies)
    models = select_models(rows, first, FLOOR, np.inf, 2)
    left_out = {*shapes(1, shift, rows), *shapes(2, shift, rows)} - {model.shape for model in models}
    assert {shape.J for shape in left_out} == {1, 2}
    for shape in left_out:
        assert fit_shapes([shape], rows, first[1], np.inf, FLOOR)[0].bic > models[0].bic


def test_of_normal_noise_one_component_is_tried_and_of_a_heavy_tail_two(draw_rows):
    rng = np.random.default_rng(0)
    rows = draw_rows(n=400)
    normal = rows.X @ np.ones(3) + rng.normal(size=400)
    even = selected(False, replace(rows, y=normal), rows.X, max_j=4)
    assert [model.shape for model in even] == [Shape(1)]
    far = 3.0 * rng.normal(size=400) * (rng.random(400) < 0.2)
    heavy = selected(False, replace(rows, y=normal + far), rows.X, max_j=2)
    assert {Shape(2, "shared"), Shape(2, "own")} <= {model.shape for model in heavy}
    assert heavy[0].shape == Shape(2, "shared")


def test_a_sd_by_the_environment_is_tried_where_the_spread_follows_it():
    rng = np.random.default_rng(0)
    _, rows, proxies = prepared("gaussian", 0.0)
    noise = rng.normal(size=400)
    even, uneven = (replace(rows, y=noise * np.exp(slope * rows.G[:, 1])) for slope in (0.0, 0.4))
    assert [model.shape.scale for model in one_component(False, even, proxies)[0]] == ["constant"]
    tried = one_component(False, uneven, proxies)[0]
    assert [model.shape.scale for model in tried] == ["constant", "environment"]
    assert tried[1].bic < tried[0].bic


def test_max_j_bounds_the_selection(gaussian):
    _, rows, proxies = gaussian
    assert {model.shape.J for model in selected(True, rows, proxies, max_j=1)} == {1}


def test_models_far_behind_the_other_kind_are_not_brought_to_their_maximum():
    _, rows, proxies = prepared("exponential", 3.0)
    first = one_component(True, rows, proxies)
    maximised, given_up = (select_models(rows, first, FLOOR, best_other, 2) for best_other in (np.inf, -1e5))
    assert {model.shape for model in given_up} == {model.shape for model in maximised}
    assert given_up[0].loglik < maximised[0].loglik
    assert maximised[0].converged
    assert not given_up[0].converged


def test_an_atom_runs_only_where_there_is_a_spike(gaussian, zeros):
    for shift in (False, True):
        assert not any(s.means == "atom" for s in shapes(2, shift, gaussian[1]))
        assert any(s.means == "atom" for s in shapes(2, shift, zeros[1]))
    assert has_spike(zeros[1].y, zeros[1].weights)
    assert not has_spike(gaussian[1].y, gaussian[1].weights)


def test_several_components_share_a_wider_floor_than_one():
    assert floor_of(Shape(1), 0.3) == FLOOR
    assert floor_of(Shape(2), 0.3) == 0.3


# --- who wins -----------------------------------------------------------------------------------------------


def best_of_both(rows, proxies, max_j=3):
    """The best model with and the best without a bias."""
    return selected(True, rows, proxies, max_j)[0], selected(False, rows, proxies, max_j)[0]


def test_a_gaussian_bias_is_one_component_with_a_shift(gaussian):
    world, rows, proxies = gaussian
    bias, null = best_of_both(rows, proxies)
    assert bias.bic < null.bic - 20.0
    assert bias.shape.J == 1
    assert bias.params.a[0, 0] * world.y.std() == pytest.approx(world.alpha[0], rel=0.15)
    who = posterior(bias.params, rows, bias.shape).p_biased[0] > 0.5
    assert np.mean(who == world.a) > 0.9


def test_skew_alone_is_not_a_bias():
    _, rows, proxies = prepared("exponential", 0.0, n=500)
    bias, null = best_of_both(rows, proxies)
    assert null.bic < bias.bic
    assert null.shape.J >= 2


def test_two_humps_that_the_environment_does_not_drive_are_not_a_bias():
    _, rows, proxies = prepared("two-humped", 0.0, n=500)
    bias, null = best_of_both(rows, proxies, max_j=2)
    assert null.bic < bias.bic
    assert null.shape.J >= 2


def test_an_atom_that_moved_is_a_bias(zeros):
    world, rows, proxies = zeros
    bias, null = best_of_both(rows, proxies, max_j=2)
    assert bias.bic < null.bic - 50.0
    assert bias.shape.means == "atom"
    assert bias.params.a[0, 0] * world.y.std() == pytest.approx(world.alpha[0], rel=0.02)


def test_a_size_by_level_beats_one_size_where_sizes_differ():
    world, rows, proxies = prepared("alpha by level", 1.0, n=600, effect="by:level")
    _, plain, _ = prepared("alpha by level", 1.0, n=600)
    constant = selected(True, plain, proxies, max_j=1)
    by_level = select_by_level(rows, plain, proxies, constant, FLOOR)
    best = min(by_level, key=lambda model: model.bic)
    assert best.bic < constant[0].bic - 20.0
    wanted = [world.alpha[world.level == k][0] for k in range(4)]
    assert np.all(np.abs(best.params.a[0] * world.y.std() - wanted)[1:] < 0.25 * np.array(wanted)[1:])


def test_many_starts_do_no_worse_than_the_truth_as_a_start(gaussian):
    # The best of the blind starts reaches what EM reaches from the true labels.
    world, rows, proxies = gaussian
    shape = Shape(1, shift=True)
    told = begin([shape], rows, np.ones((1, 1, 400)), world.a[None], FLOOR)
    best = run(told, [rows], Rules.of([shape], rows.X.shape[1], FLOOR), 600, 1e-8)
    blind = fit_shapes([shape], rows, [(tau, None) for tau in guesses_of_bias(rows, proxies)], np.inf, FLOOR)[
        0
    ]
    assert blind.loglik == pytest.approx(posterior(best.params, rows, shape).loglik.sum(), abs=0.2)
    assert blind.converged


# --- content ------------------------------------------------------------------------------------------------


def content_candidates(y, columns):
    data = Data(y, columns, columns[:, :1], np.ones(len(y)), np.ones(columns.shape[1] + 1, bool))
    return ways_of_content(data, "constant")


def chosen(features, y):
    return choose_features(features, y[None], np.ones(len(y)))[0][0]


def test_curved_content_is_splined_and_straight_content_is_not():
    rng = np.random.default_rng(0)
    P = rng.normal(size=(600, 2))
    noise = 0.3 * rng.normal(size=600)
    straight, curved = P.sum(axis=1) + noise, np.sin(2.0 * P[:, 0]) + P[:, 1] ** 2 + noise
    assert chosen(content_candidates(straight, P), straight) == "linear"
    assert chosen(content_candidates(curved, P), curved).startswith("splines of P")


def test_a_curve_that_a_large_bias_hides_shows_once_the_bias_is_off():
    rng = np.random.default_rng(1)
    P = rng.normal(size=(400, 2))
    true = P[:, 1] + 0.15 * P[:, 0] ** 2 + 0.3 * rng.normal(size=400)
    y = true + 20.0 * (rng.random(400) < 0.5)
    features = content_candidates(y, P)
    assert chosen(features, y) == "linear"
    assert chosen(features, true) != "linear"
    both = choose_features(features, np.stack([y, true]), np.ones(400))
    assert [name for name, _ in both] == ["linear", chosen(features, true)]
    assert both[0][1] == 0.0 < both[1][1]


@pytest.mark.parametrize("seed", range(12))
def test_content_that_cannot_be_the_best_is_left_out_and_nothing_else(seed):
    rng = np.random.default_rng(seed)
    n = 300
    columns = rng.normal(size=(n, 4))
    bend, size = seed % 4, (0.0, 0.15, 0.4)[seed % 3]
    y = columns.sum(axis=1) + rng.normal(size=n) + size * columns[:, bend] * columns[:, (bend + seed) % 4]
    P, E = columns[:, :2], columns[:, 2:]
    data = Data(y, P, E, np.ones(n), np.ones(4, bool))
    ways = ways_of_content(data, "constant")
    outcomes = np.stack([y, y - columns[:, 0]])
    found = choose_features(ways, outcomes, np.ones(n))
    bics = []
    for way in ways_of_content(data, "constant").values():
        variance, taken = left_of(way.columns, outcomes, np.ones(n))
        bics.append(n * np.log(variance) + taken * np.log(n))
        assert way.columns.shape[1] == way.width
        if way.inside is not None:
            outer = np.linalg.matrix_rank(np.hstack([ways[way.inside].columns, way.columns]))
            assert outer == ways[way.inside].width
    leads = bics[0] - np.array(bics)
    assert [name for name, _ in found] == [list(ways)[i] for i in leads.argmax(axis=0)]
    np.testing.assert_allclose([lead for _, lead in found], leads.max(axis=0), atol=1e-6)


def test_splines_are_not_made_where_all_of_them_explain_too_little():
    rng = np.random.default_rng(2)
    P, E = rng.normal(size=(500, 3)), rng.normal(size=(500, 4))
    y = P.sum(axis=1) + rng.normal(size=500)
    ways = ways_of_content(Data(y, P, E, np.ones(500), np.ones(7, bool)), "constant")
    assert chosen(ways, y) == "linear"
    made = {name for name, way in ways.items() if "columns" in vars(way)}
    assert "splines of P and E" in made
    assert not made & {"splines of P", "splines of E"}
