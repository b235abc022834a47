"""What a larger law would gain, foretold: against regressions on scores, and against its fit."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from proxycal.mixture.score_test import GRID, SHARES
from proxycal.mixture.wide.fit import fit, polished, valued
from proxycal.mixture.wide.grow import grown
from proxycal.mixture.wide.law import Law, layout, names
from proxycal.mixture.wide.likelihood import Likelihood
from proxycal.mixture.wide.problem import Problem
from proxycal.mixture.wide.score_test import LARGER, SMALLER, ScoreTest
from proxycal.mixture.wide.search import extend

ONE = {"b": [0.0, 0.5]}
BIAS = {"b": [0.0, 0.5], "alpha": 4.0, "gamma": [0.0, 1.0, -0.5]}
TWO = {"b": [0.0, 0.5], "log_sigma": [0.0, -0.3], "d": 3.0}
# A law, a larger one, the truth of the smaller one, and what a little of the larger one adds to it.
NESTED = [
    (Law(), Law(scale="E"), ONE, {"tau": [0.06, 0.0]}),
    (Law(), Law(scale="m"), ONE, {"tau": 0.08}),
    (Law(states=1), Law(states=1, scale="E"), BIAS, {"tau": [0.08, 0.0]}),
    (Law(states=1), Law(states=1, by_content=True), BIAS, {"delta": 0.14}),
    (Law(states=1), Law(states=1, gate="E m"), BIAS, {"gamma": [0.0, 1.0, -0.5, 0.2]}),
    (Law(states=1), Law(states=1, gate="E Q"), BIAS, {"gamma": [0.0, 1.0, -0.5, 0.0, 0.25, 0.0]}),
    (Law(states=1), Law(states=1, gate="E y"), BIAS, {"gate_y": 0.35}),
    (Law(components=2), Law(components=2, weights_by_content=True), TWO, {"v": 0.2}),
    (Law(components=2), Law(components=2, own_slopes=True), TWO, {"k": 0.12}),
    (
        Law(components=2),
        Law(components=2, scale="E", scale_by_component=True),
        TWO,
        {"tau": [0.08, 0.0, -0.05, 0.0]},
    ),
]
# The same of laws whose further parameters have no place of their own yet.
PLACELESS = [
    (Law(), Law(components=2), ONE, {"log_sigma": [0.0, 0.6], "d": 0.8, "c": -1.3}),
    (Law(states=1), Law(states=1, components=2), BIAS, {"log_sigma": [0.0, 0.6], "d": 0.8, "c": -1.3}),
    (Law(states=1), Law(states=1, spread=True), BIAS, {"log_omega": np.log(0.8)}),
    (Law(states=1), Law(states=1, cv=0.4), BIAS, {}),
    (
        Law(states=1, by_content=True),
        Law(states=1, by_content=True, spread=True),
        BIAS | {"delta": 0.8},
        {"log_omega": np.log(0.8)},
    ),
    (Law(states=1, by_content=True), Law(states=1, by_content=True, cv=0.4), BIAS | {"delta": 0.8}, {}),
    (
        Law(states=2, shared_gate=True),
        Law(states=2, shared_gate=True, spread=True),
        BIAS | {"alpha": [4.0, 9.0]},
        {"log_omega": np.log(0.9)},
    ),
    (Law(states=1), Law(states=2, shared_gate=True), BIAS, {"alpha": [2.0, 4.5], "split": 1.0}),
    (Law(states=1), Law(states=2), BIAS, {"alpha": [2.0, 4.5], "gamma": [0.0, 1.0, 0.0, 0.0, -0.5, 0.5]}),
]


def label(value):
    return value.label if isinstance(value, Law) else ""


def orthonormal(columns):
    centred = columns - columns.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    return centred @ vectors / np.sqrt(values)


def placed(law, told):
    at = layout(law, 2, 2)
    theta = np.zeros(at.size)
    for name, value in told.items():
        theta[getattr(at, name)] = value
    return theta


def drawn(law, told, n=2000, seed=0):
    """Rows from a law, with two content columns, two of the environment, and an index."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), orthonormal(rng.normal(size=(n, 1)))])
    E, m = orthonormal(rng.normal(size=(n, 2))), orthonormal(rng.normal(size=(n, 1)))[:, 0]
    rows = Problem(np.zeros(n), X, E, m, np.ones(n))
    theta, likelihood = placed(law, told), Likelihood(rows, law)
    at, cells = likelihood.at, likelihood.cells(theta)
    if law.gate == "E y":
        true = X @ theta[at.b] + rng.normal(size=n)
        logit = likelihood.G @ theta[at.gamma] + theta[at.gate_y] * true
        biased = rng.random(n) < 1.0 / (1.0 + np.exp(-logit))
        return replace(rows, y=true + theta[at.alpha] * biased)
    prior, mean, variance = (
        np.broadcast_to(part, cells.left.shape).reshape(-1, n)
        for part in (np.exp(cells.log_prior), -cells.left, cells.variance)
    )
    cell = (rng.random(n) > prior.cumsum(axis=0)).sum(axis=0), np.arange(n)
    return replace(rows, y=mean[cell] + np.sqrt(variance[cell]) * rng.normal(size=n))


def at_maximum(problem, law, told):
    return polished(fit(problem, law, placed(law, told)))


def explained(columns, weights):
    """Half of what columns explain of a column of ones."""
    root = np.sqrt(weights)
    fitted = (columns * root[:, None]) @ np.linalg.lstsq(columns * root[:, None], root, rcond=None)[0]
    return 0.5 * float(fitted @ fitted)


# --- one formula --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def biased():
    """A bias of one size at its maximum, in rows of several weights."""
    problem = drawn(Law(states=1), BIAS, n=400)
    problem = replace(problem, weights=np.random.default_rng(0).uniform(0.3, 3.0, 400))
    return at_maximum(problem, Law(states=1), BIAS)


def test_directions_gain_what_they_explain_beside_the_scores(biased):
    more = np.random.default_rng(1).normal(size=(400, 3)) + np.array([0.2, 0.1, -0.2])
    scores, weights = biased.likelihood.scores(biased.theta)[1], biased.problem.weights
    test = ScoreTest(biased)
    beside = explained(np.hstack([scores, more]), weights) - explained(scores, weights)
    assert beside > 5.0
    assert test.gain(more) == pytest.approx(beside, rel=1e-4)
    gains, back = test.gains(more)[0], test.gains(-more)[0]
    np.testing.assert_allclose(
        np.maximum(gains, back), [test.gain(more[:, [i]]) for i in range(3)], rtol=1e-4
    )
    np.testing.assert_array_equal(np.minimum(gains, back), 0.0)
    assert test.gain(scores[:, 1:3]) < 1e-3


@pytest.mark.parametrize(("small", "large", "base", "more"), NESTED, ids=label)
def test_a_nested_law_is_foretold_from_the_scores_of_its_further_parameters(small, large, base, more):
    problem = drawn(large, base | more, n=500)
    model = at_maximum(problem, small, base)
    start, likelihood = grown(model, large), Likelihood(problem, large)
    had, every = names(small, 2, 2), names(large, 2, 2)
    new = [every.index(name) for name in every if name not in had]
    columns = np.empty((500, len(new)))
    for k, i in enumerate(new):
        step = 1e-5 * (np.arange(len(start)) == i)
        ends = [likelihood.seen(start + side * step).loglik for side in (1.0, -1.0)]
        columns[:, k] = (ends[0] - ends[1]) / 2e-5
    scores = model.likelihood.scores(model.theta)[1]
    beside = explained(np.hstack([scores, columns]), problem.weights) - explained(scores, problem.weights)
    assert ScoreTest(model).foretold(large) == pytest.approx(beside - 0.5 * len(new), rel=1e-3, abs=1e-3)


@pytest.mark.parametrize(("small", "large", "base", "more"), NESTED + PLACELESS, ids=label)
def test_neither_the_order_of_rows_nor_repeating_them_changes_what_is_foretold(small, large, base, more):
    problem = drawn(large, base | more, n=300)
    model = at_maximum(problem, small, base)
    foretold = ScoreTest(model).foretold(large)
    order = np.random.default_rng(0).permutation(300)
    shuffled = valued(problem.take(order), small, model.theta)
    assert ScoreTest(shuffled).foretold(large) == pytest.approx(foretold, rel=1e-5, abs=1e-5)
    times = np.arange(300) % 3 + 1
    weighted = at_maximum(replace(problem, weights=times.astype(float)), small, base)
    repeated = valued(problem.take(np.repeat(np.arange(300), times)), small, weighted.theta)
    both = [ScoreTest(one).foretold(large) for one in (weighted, repeated)]
    assert both[1] == pytest.approx(both[0], rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("off", [0.03, -0.05])
def test_what_a_model_has_left_to_gain_is_foretold_too(off):
    problem = drawn(Law(), ONE)
    model = at_maximum(problem, Law(), ONE)
    away = valued(problem, Law(), model.theta + np.array([off, 0.0, 0.0]))
    left = model.loglik - away.loglik
    assert left > 0.5
    # Scores have a little more or less spread in a sample than the curvature says.
    found = ScoreTest(away).foretold(Law(scale="m")) - ScoreTest(model).foretold(Law(scale="m"))
    assert found == pytest.approx(left, rel=0.15, abs=0.05)


# --- what is foretold and what comes of it ------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("small", "large", "base", "more"), NESTED, ids=label)
def test_a_nested_law_gains_what_is_foretold(small, large, base, more, seed):
    further = layout(large, 2, 2).size - layout(small, 2, 2).size
    model = at_maximum(drawn(small, base, seed=seed), small, base)
    # Twice what noise gains is chi-square: below this in 999 of 1000.
    assert -0.5 * further - 0.01 <= ScoreTest(model).foretold(large) < 5.0 + 0.6 * further
    model = at_maximum(drawn(large, base | more, seed=seed), small, base)
    gained = polished(extend(model, large)).loglik - model.loglik
    assert gained > 3.0
    assert ScoreTest(model).foretold(large) + 0.5 * further == pytest.approx(gained, rel=0.25, abs=0.5)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("small", "large", "base", "more"), PLACELESS, ids=label)
def test_components_and_sizes_gain_about_what_is_foretold(small, large, base, more, seed):
    model = at_maximum(drawn(small, base, seed=seed), small, base)
    assert 0.0 <= ScoreTest(model).foretold(large) < 6.0
    model = at_maximum(drawn(large, base | more, seed=seed), small, base)
    gained = polished(extend(model, large)).loglik - model.loglik
    assert gained > 10.0
    # A grid holds one of several parameters free, and so foretells a part of what the fit finds.
    assert 0.15 * gained < ScoreTest(model).foretold(large) < 1.5 * gained


def test_a_gate_that_bends_is_foretold_as_two():
    bent = BIAS | {"gamma": [0.0, 0.5, 0.0, 1.0, 0.0, 0.0]}
    problem = drawn(Law(states=1, gate="E Q"), bent)
    model = at_maximum(problem, Law(states=1), BIAS)
    straight = at_maximum(drawn(Law(states=1), BIAS), Law(states=1), BIAS)
    assert ScoreTest(model).foretold(Law(states=2)) > 30.0
    assert ScoreTest(straight).foretold(Law(states=2)) < 6.0
    # It is no size: with one gate for both there is nothing to gain.
    assert ScoreTest(model).foretold(Law(states=2, shared_gate=True)) < 6.0


# --- where a component would be -----------------------------------------------------------------------------


@pytest.mark.parametrize(("place", "width", "weight"), [(2.5, 0.4, 0.1), (-2.5, 0.4, 0.1), (0.0, 0.4, 0.35)])
def test_a_component_is_begun_where_it_is(place, width, weight):
    rng = np.random.default_rng(5)
    inside = rng.random(1500) < weight
    y = np.where(inside, place + width * rng.normal(size=1500), rng.normal(size=1500))
    problem = replace(drawn(Law(), ONE, n=1500), y=y)
    # Around the first component as it is, not as all rows together would have it.
    model = valued(problem, Law(), np.zeros(3))
    gain, places = ScoreTest(model).component
    assert gain > 20.0
    first = places[-1]
    assert (first.place, first.width) == (place, width)
    assert SHARES[0] <= min(one.weight for one in places)
    assert max(one.weight for one in places) <= SHARES[-1]
    assert first.weight == pytest.approx(weight)


def test_a_few_rows_far_away_are_foretold_by_their_weight():
    noise = np.random.default_rng(5).normal(size=1000)
    noise[:2] = 8.0
    problem = replace(drawn(Law(), ONE, n=1000), y=noise)
    model = at_maximum(problem, Law(), ONE)
    at = model.likelihood.at
    sd, mean = float(np.exp(model.theta[at.log_sigma][0])), problem.X @ model.theta[at.b]
    old = norm.pdf(noise, mean, sd)
    by_weight = max(
        float(np.log1p(share * (norm.pdf(noise, mean + place * sd, width * sd) / old - 1.0)).sum())
        for place, width in GRID
        for share in SHARES
    )
    assert by_weight > 20.0
    assert ScoreTest(model).component[0] == pytest.approx(by_weight, rel=1e-8)


def test_a_few_rows_of_a_far_larger_size_are_foretold_by_their_share():
    problem = drawn(Law(states=1), BIAS, n=1000)
    y = problem.y.copy()
    y[:2] = problem.X[:2] @ [0.0, 0.5] + 9.0
    model = at_maximum(replace(problem, y=y), Law(states=1), BIAS)
    at, seen = model.likelihood.at, model.likelihood.seen(model.theta)
    mean, sd = problem.X @ model.theta[at.b], float(np.exp(model.theta[at.log_sigma][0]))
    pi, size = np.exp(seen.cells.log_gate[1]), float(model.theta[at.alpha][0])
    by_share = max(
        float(
            np.log1p(
                share * (pi * norm.pdf(y, mean + part * size, sd) / np.exp(seen.loglik) - seen.r[1, 0])
            ).sum()
        )
        for part in (*SMALLER, *LARGER)
        for share in SHARES
    )
    assert by_share > 5.0
    assert ScoreTest(model).foretold(Law(states=2, shared_gate=True)) == pytest.approx(by_share, rel=1e-4)
