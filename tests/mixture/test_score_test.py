"""What a larger model would gain, foretold: against definitions, regressions and fits of the larger one."""

from dataclasses import fields, replace

import numpy as np
import pytest
from scipy.stats import norm

from proxycal.mixture.em import Rules, mean_map, run
from proxycal.mixture.laws import Rows, Shape, posterior
from proxycal.mixture.score_test import (
    GRID,
    SHARES,
    Maximum,
    ScoreSums,
    components,
    inverse_of,
    score_sums,
    spread_by_content,
    spread_by_environment,
)
from proxycal.mixture.scores import RowScores
from proxycal.mixture.select import FLOOR, fit_shapes, one_component

SHAPES = [
    Shape(1),
    Shape(2, "shared"),
    Shape(1, shift=True),
    Shape(3, "shared", shift=True),
    Shape(2, "own", shift=True),
    Shape(1, scale="environment", shift=True),
]
DIRECTIONS = [components, spread_by_environment, spread_by_content]
shaped = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape.label} {shape.shift}")
directed = pytest.mark.parametrize("directions", DIRECTIONS, ids=lambda function: function.__name__)


def some(rows, index):
    parts = (rows.y, rows.X, rows.G, rows.D, rows.weights)
    return Rows(*(part[index] for part in parts))


def explained(columns, weights):
    """Half of what columns explain of a column of ones."""
    root = np.sqrt(weights)
    fitted = (columns * root[:, None]) @ np.linalg.lstsq(columns * root[:, None], root, rcond=None)[0]
    return 0.5 * float(fitted @ fitted)


def same(one, other, **tolerance):
    for field in fields(ScoreSums):
        mine, its = getattr(one, field.name), getattr(other, field.name)
        np.testing.assert_allclose(mine, its, err_msg=field.name, **tolerance)


# --- the gain of directions ---------------------------------------------------------------------------------


@pytest.fixture
def columns():
    """Scores (200,4) and directions (200,3) that share some of what they say, and lean to one side."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(200, 4)) + 0.1
    return scores, rng.normal(size=(200, 3)) + scores[:, :3] + [0.2, 0.1, -0.3]


def at_maximum(scores):
    return Maximum.of(scores.T @ scores, scores.sum(axis=0))


def test_directions_gain_what_they_explain_beside_the_scores(columns):
    scores, more = columns
    gain = at_maximum(scores).gain(scores.T @ more, more.T @ more, more.sum(axis=0))
    ones = np.ones(200)
    expected = explained(np.hstack([scores, more]), ones) - explained(scores, ones)
    assert expected > 1.0
    assert gain == pytest.approx(expected, rel=1e-4)


def test_a_direction_alone_gains_in_its_own_sense_only(columns):
    scores, more = columns
    at, squares, slope = at_maximum(scores), (more**2).sum(axis=0), more.sum(axis=0)
    gains, lengths = at.gains(scores.T @ more, squares, slope)
    back, _ = at.gains(-scores.T @ more, squares, -slope)
    for i in range(3):
        one = more[:, i : i + 1]
        alone = at.gain(scores.T @ one, one.T @ one, one.sum(axis=0))
        assert max(gains[i], back[i]) == pytest.approx(alone, rel=1e-4)
        assert min(gains[i], back[i]) == 0.0
        # The step of Newton: along a parabola it gains half its length times its slope.
        beside = one[:, 0] - scores @ np.linalg.lstsq(scores, one[:, 0], rcond=None)[0]
        if gains[i] > 0.0:
            assert gains[i] == pytest.approx(0.5 * lengths[i] * beside.sum(), rel=1e-4)
    assert (gains > 0.0).any()
    assert (back > 0.0).any()


def test_what_the_scores_say_already_gains_nothing(columns):
    scores, _ = columns
    repeated = scores[:, :2] @ [[1.0, 0.5], [0.3, -1.0]]
    at = at_maximum(scores)
    sums = scores.T @ repeated, repeated.T @ repeated, repeated.sum(axis=0)
    assert at.gain(*sums) < 1e-4
    assert at.gains(sums[0], np.diag(sums[1]), sums[2])[0].max() < 1e-4


def test_repeated_and_empty_parameters_have_no_say(columns):
    scores, more = columns
    padded = np.hstack([scores, scores[:, :2], np.zeros((200, 1))])
    gains = [at_maximum(one).gain(one.T @ more, more.T @ more, more.sum(axis=0)) for one in (scores, padded)]
    assert gains[1] == pytest.approx(gains[0], rel=1e-5)


def test_the_inverse_is_the_inverse_whatever_the_units():
    rng = np.random.default_rng(1)
    made = rng.normal(size=(30, 4))
    units = np.array([1.0, 1e-6, 1e5, 30.0])
    for scale in (np.ones(4), units):
        gram = (made * scale).T @ (made * scale)
        np.testing.assert_allclose(
            inverse_of(gram) * scale * scale[:, None], np.linalg.inv(made.T @ made), rtol=1e-6
        )


# --- sums over rows -----------------------------------------------------------------------------------------


@shaped
@pytest.mark.parametrize("directions", DIRECTIONS[:2], ids=lambda function: function.__name__)
def test_sums_over_chunks_are_those_over_all_rows(shape, directions, draw_rows, draw_params):
    rows = draw_rows(n=90, weights=True)
    params = draw_params(shape, rows)
    whole = score_sums(params, [rows], shape, directions)
    parts = [some(rows, index) for index in (slice(0, 40), slice(40, 41), slice(41, 90))]
    same(score_sums(params, parts, shape, directions), whole, rtol=1e-9, atol=1e-9)
    assert whole.weight == pytest.approx(rows.weights.sum())


@shaped
@directed
def test_the_order_of_rows_changes_nothing(shape, directions, draw_rows, draw_params):
    rows = draw_rows(n=90, weights=True)
    params = draw_params(shape, rows)
    shuffled = some(rows, np.random.default_rng(0).permutation(90))
    one, other = (score_sums(params, [each], shape, directions) for each in (rows, shuffled))
    assert other.best() == pytest.approx(one.best(), rel=1e-8)
    assert other.together() == pytest.approx(one.together(), rel=1e-6)


@shaped
@directed
def test_weights_are_repeated_rows(shape, directions, draw_rows, draw_params):
    rows = draw_rows(n=40)
    params, times = draw_params(shape, rows), np.arange(40) % 3 + 1
    weighted = replace(rows, weights=times.astype(float))
    repeated = some(rows, np.repeat(np.arange(40), times))
    sums = [score_sums(params, [each], shape, directions) for each in (weighted, repeated)]
    assert sums[1].best() == pytest.approx(sums[0].best(), rel=1e-8)
    same(*sums, rtol=1e-7, atol=1e-7)


@shaped
def test_gains_are_what_directions_explain_beside_the_scores_of_rows(shape, draw_rows, draw_params):
    rows = draw_rows(n=300, weights=True)
    rows = replace(rows, y=rows.y * np.exp(0.5 * rows.G[:, 1]))
    params = run(draw_params(shape, rows), [rows], Rules.of([shape], 3, FLOOR), 20, 1e-9).params
    found = score_sums(params, [rows], shape, spread_by_environment).together()
    scores = RowScores(params, rows, shape)
    own = scores.averaged((1.0, 1.0))
    free = np.hstack([own[:, scores.layout.mean] @ mean_map(shape, 3), own[:, scores.layout.mean.stop :]])
    more = spread_by_environment(params, shape, rows, scores)
    beside = explained(np.hstack([free, more]), rows.weights) - explained(free, rows.weights)
    if shape.scale == "environment":
        # The model has these slopes already.
        assert found < 1e-3
    else:
        assert beside > 1.0
        assert found == pytest.approx(beside, rel=1e-4)


# --- directions against their definition --------------------------------------------------------------------


@shaped
def test_the_direction_of_a_component_is_its_density_over_that_of_the_model(shape, draw_rows, draw_params):
    rows = draw_rows(n=50, weights=True)
    params = draw_params(shape, rows)
    made = components(params, shape, rows, RowScores(params, rows, shape))
    post = posterior(params, rows, shape)
    sd = np.exp(params.log_sigma[0, 0] + (rows.G @ params.scale[0] if shape.scale == "environment" else 0.0))
    mean = rows.X @ params.beta[0, 0]
    for g, (place, width) in enumerate(GRID):
        density = norm.pdf(rows.y, mean + place * sd, width * sd)
        if shape.shift:
            moved = norm.pdf(rows.y, mean + place * sd + params.a[0, 0], width * sd)
            density = (1.0 - post.pi[0]) * density + post.pi[0] * moved
        np.testing.assert_allclose(made[:, g], density / np.exp(post.loglik[0]) - 1.0, rtol=1e-8, atol=1e-10)


def test_a_weight_gains_what_the_mixture_of_both_has_more(draw_rows, draw_params):
    rows = draw_rows(n=50, weights=True)
    shape = Shape(1)
    params = draw_params(shape, rows)
    sums = score_sums(params, [rows], shape, components)
    sd, mean = np.exp(params.log_sigma[0, 0]), rows.X @ params.beta[0, 0]
    old = norm.pdf(rows.y, mean, sd)
    for g, (place, width) in enumerate(GRID):
        new = norm.pdf(rows.y, mean + place * sd, width * sd)
        for s, share in enumerate(SHARES):
            gained = rows.weights @ (np.log((1.0 - share) * old + share * new) - np.log(old))
            assert sums.along[s, g] == pytest.approx(gained, rel=1e-8, abs=1e-9)
    assert sums.best() >= sums.along.max()


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape.J == 1], ids=lambda shape: shape.label)
def test_the_spread_by_environment_is_the_slope_of_each_row(shape, draw_rows, draw_params):
    rows = draw_rows(n=30)
    params = draw_params(shape, rows)
    made = spread_by_environment(params, shape, rows, RowScores(params, rows, shape))
    by_environment = replace(shape, scale="environment")
    for i in (1, 2):
        ends = []
        for step in (1e-5, -1e-5):
            scale = params.scale.copy()
            scale[0, i] += step
            ends.append(posterior(replace(params, scale=scale), rows, by_environment).loglik[0])
        np.testing.assert_allclose(made[:, i - 1], (ends[0] - ends[1]) / 2e-5, rtol=1e-5, atol=1e-7)


def test_the_spread_by_content_is_taken_along_its_own_axes(draw_rows, draw_params):
    rows = draw_rows(n=80, weights=True)
    shape = Shape(1)
    params = draw_params(shape, rows)
    made = spread_by_content(params, shape, rows, RowScores(params, rows, shape))
    sd = np.exp(params.log_sigma[0, 0])
    beyond = ((rows.y - rows.X @ params.beta[0, 0]) / sd) ** 2 - 1.0
    # Axes at right angles: all together they are the spread that grows along no one of them.
    np.testing.assert_allclose(made.sum(axis=1), beyond * (rows.X**2).sum(axis=1), rtol=1e-9)
    by_content = rows.X.T @ (rows.X * (beyond * rows.weights)[:, None])
    np.testing.assert_allclose(rows.weights @ made, np.linalg.eigvalsh(by_content), rtol=1e-8, atol=1e-8)


# --- what is foretold and what comes of it ------------------------------------------------------------------


def plain_and_foretold(rows, shift, directions):
    """The model with one component at its maximum, the guesses of larger ones, and the score sums."""
    models, guesses = one_component(shift, rows, rows.X)
    plain = models[0]
    rules = Rules.of([plain.shape], rows.X.shape[1], FLOOR)
    params = run(plain.params, [rows], rules, 4000, 1e-11).params
    loglik = float(posterior(params, rows, plain.shape).loglik[0] @ rows.weights)
    return loglik, guesses, score_sums(params, [rows], plain.shape, directions)


def with_noise(rows, noise, shift):
    content = rows.X @ [0.2, 0.5, 0.5]
    biased = np.random.default_rng(9).random(len(noise)) < 1.0 / (1.0 + np.exp(-rows.G[:, 1]))
    return replace(rows, y=content + noise + (4.0 * biased if shift else 0.0))


@pytest.mark.parametrize("shift", [False, True], ids=["without", "with"])
@pytest.mark.parametrize("seed", range(3))
def test_a_sd_by_the_environment_gains_what_is_foretold(shift, seed, draw_rows):
    rows = draw_rows(n=4000, seed=seed)
    normal = np.random.default_rng(seed).normal(size=4000)
    even, uneven = (with_noise(rows, normal * np.exp(slope * rows.G[:, 1]), shift) for slope in (0.0, 0.06))
    _, _, sums = plain_and_foretold(even, shift, spread_by_environment)
    # Twice the gain of two parameters that are not there is chi-square of two: below 13.8 in 999 of 1000.
    assert 0.0 <= sums.together() < 6.9
    loglik, guesses, sums = plain_and_foretold(uneven, shift, spread_by_environment)
    larger = fit_shapes([Shape(1, scale="environment", shift=shift)], uneven, guesses, np.inf, FLOOR)[0]
    assert larger.loglik - loglik > 8.0
    assert sums.together() == pytest.approx(larger.loglik - loglik, rel=0.2)


@pytest.mark.parametrize("shift", [False, True], ids=["without", "with"])
@pytest.mark.parametrize("seed", range(3))
def test_one_more_component_gains_about_what_is_foretold(shift, seed, draw_rows):
    rng = np.random.default_rng(seed)
    rows = draw_rows(n=2000, seed=seed)
    normal, wide = rng.normal(size=2000), rng.random(2000) < 0.2
    _, _, sums = plain_and_foretold(with_noise(rows, normal, shift), shift, components)
    assert 0.0 <= sums.best() < 6.0
    heavy = with_noise(rows, np.where(wide, 0.7 + 1.7 * normal, normal), shift)
    loglik, guesses, sums = plain_and_foretold(heavy, shift, components)
    larger = fit_shapes([Shape(2, "shared", shift=shift)], heavy, guesses, np.inf, FLOOR)[0]
    gained = larger.loglik - loglik
    assert gained > 15.0
    # The grid has one of three parameters free: it foretells a part of what the fit finds.
    assert 0.4 * gained < sums.best() < 1.3 * gained


@pytest.mark.parametrize("seed", range(3))
def test_two_slopes_leave_a_spread_that_grows_with_content(seed, draw_rows):
    rng = np.random.default_rng(seed)
    rows = draw_rows(n=1000, seed=seed)
    normal, other = rng.normal(size=1000), rng.random(1000) < 0.5
    _, _, even = plain_and_foretold(with_noise(rows, normal, False), False, spread_by_content)
    twice = with_noise(rows, normal + np.where(other, 1.0, -1.0) * rows.X[:, 1], False)
    _, _, sums = plain_and_foretold(twice, False, spread_by_content)
    assert even.best() < 6.0
    assert sums.best() > 15.0


def test_a_few_rows_far_away_are_foretold_by_their_weight(draw_rows):
    rows = draw_rows(n=1000)
    noise = np.random.default_rng(0).normal(size=1000)
    noise[:2] = 8.0
    loglik, guesses, sums = plain_and_foretold(with_noise(rows, noise, False), False, components)
    at = Maximum.of(sums.gram, sums.total)
    by_score = at.gains(sums.cross, np.diag(sums.square), sums.slope)[0].max()
    larger = fit_shapes([Shape(2, "shared")], with_noise(rows, noise, False), guesses, np.inf, FLOOR)[0]
    assert larger.loglik - loglik > 30.0
    assert sums.best() == sums.along.max() > 2.0 * by_score


@pytest.mark.parametrize("tiny", [0.0, 1e-200])
def test_a_parameter_that_moves_nothing_has_no_say(tiny):
    rng = np.random.default_rng(3)
    made = rng.normal(size=(50, 3)) * [1.0, tiny, 5.0]
    with np.errstate(all="raise", under="ignore"):
        inverse = inverse_of(made.T @ made)
    kept = np.ix_([0, 2], [0, 2])
    np.testing.assert_allclose(inverse[kept], np.linalg.inv((made.T @ made)[kept]), rtol=1e-6)
    np.testing.assert_array_equal(inverse[1], 0.0)


@pytest.mark.parametrize("size", [1e-60, 1e-130, 1e-150, 1e-200])
def test_scores_that_are_all_next_to_nothing_overflow_nowhere(size):
    made = np.random.default_rng(0).normal(size=(30, 3)) * size
    with np.errstate(all="raise", under="ignore"):
        inverse = inverse_of(made.T @ made)
    wanted = np.linalg.inv((made.T / size) @ (made / size)) / size**2 if size > 1e-140 else np.zeros((3, 3))
    np.testing.assert_allclose(inverse, wanted, rtol=1e-6)
