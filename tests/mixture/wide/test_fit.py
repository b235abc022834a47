"""Wider models at their maximum: against the EM engine, grown from smaller ones, chosen step by step."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from proxycal.mixture.em import Rules, run
from proxycal.mixture.laws import Shape, posterior
from proxycal.mixture.maximise import newton_then_em, valued
from proxycal.mixture.select import floor_of
from proxycal.mixture.wide.fit import (
    Fitted,
    extend,
    fit,
    greedy,
    grown,
    plain_start,
    replaced,
    starts_from_guesses,
    with_extra,
)
from proxycal.mixture.wide.fit import valued as valued_widely
from proxycal.mixture.wide.law import Law, layout
from proxycal.mixture.wide.likelihood import Problem
from proxycal.mixture.wide.nulls import more_components, scale_by


@pytest.mark.parametrize("weights", [False, True], ids=["even", "weighted"])
def test_a_plain_bias_is_worth_what_the_engine_says(weights, draw_rows, draw_params):
    rows = draw_rows(n=400, seed=3, weights=weights)
    shape = Shape(1, shift=True)
    rules = Rules.of([shape], rows.X.shape[1], floor_of(shape, 0.05))
    params = run(draw_params(shape, rows), [rows], rules, max_steps=200, tol=1e-6).params
    params, converged = newton_then_em(params, [rows], rules)
    assert converged
    engine = valued(shape, params, [rows], float(rows.weights.sum()))
    problem = Problem(rows.y, rows.X, rows.G[:, 1:], np.zeros(len(rows.y)), rows.weights)
    tau = posterior(params, rows, shape).p_biased[0]
    model = fit(problem, Law(states=1), starts_from_guesses(problem, Law(states=1), [tau])[0])
    # Two optimisers stop within their tolerance of the same maximum.
    assert model.bic == pytest.approx(engine.bic, abs=0.01)
    assert model.theta[model.likelihood.at.alpha][0] == pytest.approx(params.a[0, 0], abs=0.01)


def test_without_a_bias_it_is_least_squares(draw_problem):
    problem = draw_problem(n=200, weights=True)
    model = fit(problem, Law(), plain_start(problem, Law()))
    root = np.sqrt(problem.weights)
    slopes = np.linalg.lstsq(problem.X * root[:, None], problem.y * root, rcond=None)[0]
    np.testing.assert_allclose(model.theta[model.likelihood.at.b], slopes, atol=1e-4)
    variance = np.average((problem.y - problem.X @ slopes) ** 2, weights=problem.weights)
    n = problem.weights.sum()
    assert model.bic == pytest.approx(n * (np.log(2 * np.pi * variance) + 1) + 4 * np.log(n), abs=1e-3)
    assert model.size == 4


@pytest.mark.parametrize(
    ("small", "large"),
    [
        (Law(scale="E"), Law(scale="Em")),
        (Law(scale="m"), Law(scale="Em")),
        (Law(components=2, scale="E"), Law(components=2, scale="E", scale_by_component=True)),
        (Law(components=2), Law(components=2, weights_by_content=True, own_slopes=True)),
        (Law(states=1), Law(states=1, gate="E m", by_content=True, scale="E")),
        (Law(states=1), Law(states=1, gate="E Q m")),
        (Law(states=1, gate="E m"), Law(states=1, gate="E Q m")),
        (Law(states=1), Law(states=1, gate="E y")),
        (Law(states=1, spread=True, gate="E Q"), Law(states=1, spread=True, gate="E Q m", components=1)),
        (Law(states=2, spread=True), Law(states=2, spread=True, by_content=True)),
        (Law(states=2, shared_gate=True), Law(states=2)),
        (Law(states=3, shared_gate=True), Law(states=3)),
        (Law(states=2, shared_gate=True), Law(states=2, shared_gate=True, gate="E m")),
        (Law(skew=1.0, scale="E"), Law(skew=1.0, scale="Em")),
    ],
    ids=lambda law: law.label,
)
def test_a_larger_law_begins_where_the_smaller_one_stands(small, large, draw_problem, draw_theta):
    problem = draw_problem(weights=True)
    old = valued_widely(problem, small, draw_theta(small, problem))
    new = valued_widely(problem, large, grown(old, large))
    assert new.loglik == pytest.approx(old.loglik, abs=1e-8)
    assert new.bic - old.bic == pytest.approx((new.size - old.size) * np.log(problem.n), abs=1e-8)


def test_a_law_moves_to_more_columns_of_the_mean(draw_problem, draw_theta):
    problem = draw_problem()
    old = valued_widely(problem, Law(), draw_theta(Law(), problem))
    wider = problem.with_column(problem.E[:, 0])
    law = Law(columns=1)
    assert valued_widely(wider, law, grown(old, law, wider)).loglik == pytest.approx(old.loglik, abs=1e-8)


def test_sizes_and_spreads_stay_within_their_bounds(draw_problem):
    problem = draw_problem(n=100)
    law = Law(states=1, spread=True)
    at = layout(law, 3, 2)
    start = np.zeros(at.size)
    start[at.alpha] = -3.0
    model = fit(problem, law, start)
    assert model.theta[at.alpha][0] >= 1e-3
    assert model.theta[at.log_sigma][0] >= np.log(problem.floor)


def test_a_component_is_found_by_one_of_the_splits():
    rng = np.random.default_rng(0)
    n = 600
    y = rng.normal(size=n) * np.where(rng.random(n) < 0.2, 3.0, 0.6)
    problem = Problem(y, np.ones((n, 1)), rng.normal(size=(n, 1)), np.zeros(n), np.ones(n))
    one = fit(problem, Law(), plain_start(problem, Law()))
    two = extend(one, Law(components=2))
    assert two.bic < one.bic - 50.0
    other = GaussianMixture(2, tol=1e-9, max_iter=2000, n_init=3, random_state=0).fit(y[:, None])
    assert two.loglik == pytest.approx(n * other.score(y[:, None]), abs=0.1)


def test_greedy_takes_what_pays_and_nothing_else():
    rng = np.random.default_rng(1)
    n = 600
    E = rng.normal(size=(n, 1))
    y = rng.normal(size=n) * np.exp(0.5 * E[:, 0])
    problem = Problem(y, np.ones((n, 1)), E, rng.normal(size=n), np.ones(n))
    first = fit(problem, Law(), plain_start(problem, Law()))
    tried = {"components": more_components(2), "by E": scale_by("E"), "by content": scale_by("m")}
    best = min(greedy(first, tried, 4).models, key=lambda model: model.bic)
    assert best.law == Law(scale="E")
    assert best.theta[best.likelihood.at.tau][0] == pytest.approx(0.5, abs=0.1)


def test_what_was_charged_stays_charged(draw_problem):
    problem = draw_problem(n=100)
    model = with_extra(fit(problem, Law(), plain_start(problem, Law())), 7.0)
    again = replaced(model, replace(problem, y=problem.y + 1.0))
    assert isinstance(again, Fitted)
    assert again.bic == pytest.approx(model.bic, abs=1e-3)


def test_further_sizes_are_found_from_one():
    rng = np.random.default_rng(1)
    n, e = 1500, rng.normal(size=(1500, 1))
    biased = rng.random(n) < 1.0 / (1.0 + np.exp(-1.5 * e[:, 0]))
    y = 0.3 * rng.normal(size=n) + biased * rng.choice([1.0, 2.0, 4.0], size=n, p=[0.5, 0.3, 0.2])
    problem = Problem(y, np.ones((n, 1)), e, np.zeros(n), np.ones(n))
    one = fit(problem, Law(states=1), starts_from_guesses(problem, Law(states=1), [(y > 0.5) * 1.0])[0])
    two = extend(one, Law(states=2, shared_gate=True))
    three = extend(two, Law(states=3, shared_gate=True))
    at = three.likelihood.at
    np.testing.assert_allclose(np.sort(three.theta[at.alpha]), [1.0, 2.0, 4.0], atol=0.1)
    shares = np.exp(three.likelihood.log_shares(three.theta))[np.argsort(three.theta[at.alpha])]
    np.testing.assert_allclose(shares, [0.5, 0.3, 0.2], atol=0.06)
    assert three.bic < two.bic < one.bic


@pytest.mark.parametrize("gate", [-2000.0, 2000.0], ids=["nobody", "everybody"])
def test_another_size_begins_even_where_the_gate_knows_one_kind_only(gate, draw_problem):
    problem = draw_problem(n=60)
    small = Law(states=1)
    theta = plain_start(problem, small)
    theta[layout(small, problem.X.shape[1], problem.E.shape[1]).gamma.start] = gate
    larger = extend(valued_widely(problem, small, theta), replace(small, states=2, shared_gate=True), 2)
    assert np.isfinite(larger.theta).all()
    assert np.isfinite(larger.bic)
