"""Larger laws started from smaller ones: the same place is the same likelihood, and new parts are as told."""

from dataclasses import replace

import numpy as np
import pytest

from proxycal.mixture.wide.fit import valued
from proxycal.mixture.wide.grow import SMALLER, TAKEN, Place, add_component, grown, split_sizes
from proxycal.mixture.wide.law import Law, layout
from proxycal.mixture.wide.likelihood import Likelihood


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
        (Law(), Law(components=2)),
        (Law(states=1, scale="m"), Law(states=1, scale="m", components=2)),
        (Law(components=2), Law(components=2, scale="E", scale_by_component=True)),
        (Law(components=3), Law(components=3, scale="Em", own_slopes=True)),
        (Law(states=1), Law(states=2, shared_gate=True)),
        (Law(states=1, gate="E m"), Law(states=2, gate="E m")),
        (Law(states=1, by_content=True), Law(states=1, by_content=True, gate="E m")),
        (Law(states=1, cv=0.7), Law(states=1, cv=0.7, gate="E m", by_content=True)),
        (Law(states=1, gate="E y"), Law(states=1, gate="E y", by_content=True, scale="E")),
    ],
    ids=lambda law: law.label,
)
def test_a_larger_law_begins_where_the_smaller_one_stands(small, large, draw_problem, draw_theta):
    problem = draw_problem(weights=True)
    old = valued(problem, small, draw_theta(small, problem))
    new = valued(problem, large, grown(old, large))
    assert new.loglik == pytest.approx(old.loglik, abs=1e-8)
    assert new.bic - old.bic == pytest.approx((new.size - old.size) * np.log(problem.n), abs=1e-8)


def test_a_law_moves_to_more_columns_of_the_mean(draw_problem, draw_theta):
    problem = draw_problem()
    old = valued(problem, Law(), draw_theta(Law(), problem))
    wider = problem.with_column(problem.E[:, 0])
    law = Law(columns=1)
    assert valued(wider, law, grown(old, law, wider)).loglik == pytest.approx(old.loglik, abs=1e-8)


@pytest.mark.parametrize(
    "law",
    [
        Law(scale="E"),
        Law(components=2, own_slopes=True),
        Law(states=2, spread=True, gate="E m"),
        Law(skew=1.0),
    ],
    ids=lambda law: law.label,
)
def test_the_same_law_stands_where_it_stood(law, draw_problem, draw_theta):
    problem = draw_problem()
    theta = draw_theta(law, problem)
    np.testing.assert_array_equal(grown(valued(problem, law, theta), law), theta)


def test_fewer_components_are_the_first_of_them(draw_problem, draw_theta):
    problem, three, two = draw_problem(), Law(components=3, scale="E"), Law(components=2, scale="E", states=1)
    old = draw_theta(three, problem)
    new, was, at = grown(valued(problem, three, old), two), layout(three, 3, 2), layout(two, 3, 2)
    for name in ("b", "log_sigma", "d", "c", "tau"):
        width = getattr(at, name).stop - getattr(at, name).start
        np.testing.assert_array_equal(new[getattr(at, name)], old[getattr(was, name)][:width], err_msg=name)


# --- one component more -------------------------------------------------------------------------------------


@pytest.mark.parametrize("components", [2, 3, 4])
@pytest.mark.parametrize("scale", ["", "E"])
def test_one_more_component_stands_where_it_should_with_its_weight(
    components, scale, draw_problem, draw_theta
):
    problem, law = draw_problem(), Law(components=components, scale=scale)
    old = draw_theta(replace(law, components=components - 1), problem)
    small = valued(problem, replace(law, components=components - 1), old)
    start = add_component(grown(small, law), law, problem, Place(1.4, 0.8, 0.1))
    before, after = small.likelihood.cells(old), Likelihood(problem, law).cells(start)
    weights = np.exp(after.log_weight)[:, 0]
    assert weights[-1] == pytest.approx(0.1)
    np.testing.assert_allclose(weights[:-1], 0.9 * np.exp(before.log_weight)[:, 0])
    # In sds of the first component, which may differ from row to row.
    sd = np.sqrt(after.own)
    np.testing.assert_allclose(sd[-1], 0.8 * sd[0])
    np.testing.assert_allclose(after.left[0, 0] - after.left[0, -1], np.broadcast_to(1.4 * sd[0], 40))
    np.testing.assert_allclose(after.left[0, :-1], before.left[0])
    np.testing.assert_allclose(sd[:-1], np.sqrt(before.own))


def test_a_start_leaves_what_it_started_from_as_it_was(draw_problem, draw_theta):
    problem, law = draw_problem(), Law(components=2)
    theta = grown(valued(problem, Law(), draw_theta(Law(), problem)), law)
    kept = theta.copy()
    starts = [add_component(theta, law, problem, Place(place, 1.6, 0.3)) for place in (-1.0, 1.0)]
    np.testing.assert_array_equal(theta, kept)
    assert not np.array_equal(*starts)


# --- one size more ------------------------------------------------------------------------------------------


def shares(law, problem, theta):
    """The share of each state of the report, unbiased first, in each row: (T,n)."""
    return np.exp(Likelihood(problem, law).cells(theta).log_prior[:, 0])


def begun(problem, small, large, sizes, gate, split=()):
    """Starts with one more size, and the place of the model that they start from."""
    at = layout(small, problem.X.shape[1], problem.E.shape[1])
    theta = np.zeros(at.size)
    theta[at.alpha], theta[at.gamma.start], theta[at.split] = sizes, gate, split
    return theta, split_sizes(grown(valued(problem, small, theta), large), large, problem)


def test_a_smaller_size_takes_rows_from_the_unbiased(draw_problem):
    problem, small, large = draw_problem(), Law(states=1), Law(states=2, shared_gate=True)
    theta, (start,) = begun(problem, small, large, 2.0, -0.5)
    unbiased, biased = shares(small, problem, theta)
    at = layout(large, 3, 2)
    np.testing.assert_allclose(start[at.alpha], [SMALLER * 2.0, 2.0])
    after = shares(large, problem, start)
    np.testing.assert_allclose(after[0], (1.0 - TAKEN) * unbiased)
    np.testing.assert_allclose(after[1], TAKEN * unbiased)
    np.testing.assert_allclose(after[2], biased)


def test_a_third_size_is_below_between_or_above_the_two(draw_problem):
    problem, two = draw_problem(), Law(states=2, shared_gate=True)
    three, odds = replace(two, states=3), np.log(3.0)
    theta, starts = begun(problem, two, three, [1.0, 3.0], 0.4, odds)
    at, before = layout(three, 3, 2), shares(two, problem, theta)
    np.testing.assert_allclose(
        [start[at.alpha] for start in starts], [[SMALLER, 1.0, 3.0], [1.0, 2.0, 3.0], [1.0, 3.0, 3.9]]
    )
    below, between, above = (shares(three, problem, start) for start in starts)
    np.testing.assert_allclose(below, [(1.0 - TAKEN) * before[0], TAKEN * before[0], before[1], before[2]])
    left, taken = (1.0 - TAKEN) * before, TAKEN * (1.0 - before[0])
    np.testing.assert_allclose(between, [before[0], left[1], taken, left[2]])
    np.testing.assert_allclose(above, [before[0], left[1], left[2], taken])


def test_a_size_with_a_gate_of_its_own_begins_below_the_other(draw_problem):
    problem, small, large = draw_problem(), Law(states=1), Law(states=2)
    theta, (start,) = begun(problem, small, large, 2.0, -0.5)
    np.testing.assert_allclose(start[layout(large, 3, 2).alpha], [2.0, SMALLER * 2.0])
    before, after = shares(small, problem, theta), shares(large, problem, start)
    np.testing.assert_allclose(after, [before[0], 0.5 * before[1], 0.5 * before[1]])
