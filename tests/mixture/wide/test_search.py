"""The search for the best law: what it finds, what it tries, and when it ends."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from proxycal.mixture.thresholds import THRESHOLDS
from proxycal.mixture.wide.fit import fit, plain_start, starts_from_guesses, valued
from proxycal.mixture.wide.grow import Place
from proxycal.mixture.wide.law import Law, layout, n_paid
from proxycal.mixture.wide.nulls import EXTENSIONS, more_components, scale_by
from proxycal.mixture.wide.problem import Problem
from proxycal.mixture.wide.score_test import ScoreTest
from proxycal.mixture.wide.search import (
    FAR_LATER,
    FORETOLD,
    LATER,
    OF_GATES,
    Search,
    extend,
    greedy,
    may_pay,
    out_of_reach,
)


def plain(noise, E=None, m=None):
    """Noise around nothing, as the law of one normal component sees it."""
    n, rng = len(noise), np.random.default_rng(7)
    E = rng.normal(size=(n, 1)) if E is None else E
    m = rng.normal(size=n) if m is None else m
    problem = Problem(noise, np.ones((n, 1)), E, m, np.ones(n))
    return fit(problem, Law(), plain_start(problem, Law()))


def laws(models):
    return [one.law for one in models]


# --- one extension ------------------------------------------------------------------------------------------


def test_a_component_is_found_where_the_scores_say():
    rng = np.random.default_rng(0)
    n = 600
    y = rng.normal(size=n) * np.where(rng.random(n) < 0.2, 3.0, 0.6)
    problem = Problem(y, np.ones((n, 1)), rng.normal(size=(n, 1)), np.zeros(n), np.ones(n))
    one = fit(problem, Law(), plain_start(problem, Law()))
    two = extend(one, Law(components=2))
    assert two.bic < one.bic - 50.0
    other = GaussianMixture(2, tol=1e-9, max_iter=2000, n_init=3, random_state=0).fit(y[:, None])
    assert two.loglik == pytest.approx(n * other.score(y[:, None]), abs=0.1)


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
    larger = extend(valued(problem, small, theta), replace(small, states=2, shared_gate=True), 2)
    assert np.isfinite(larger.theta).all()
    assert np.isfinite(larger.bic)


def test_first_steps_that_miss_the_bar_are_not_followed_by_others():
    rng = np.random.default_rng(0)
    first = plain(rng.normal(size=400) * np.where(rng.random(400) < 0.2, 3.0, 0.6))
    law, places = Law(components=2), [Place(0.7, 0.8, 0.02), Place(-0.7, 0.8, 0.02)]
    for begun in (places[:1], places):
        test = SimpleNamespace(component=(0.0, begun))
        whole, left = extend(first, law, test=test), extend(first, law, test=test, bar=-np.inf)
        assert left.bic > whole.bic + 10.0
        assert extend(first, law, test=test, bar=left.bic + 1.0).bic == pytest.approx(whole.bic, abs=1e-3)


def test_a_score_test_that_is_there_already_is_used():
    rng = np.random.default_rng(0)
    first = plain(rng.normal(size=300) * np.where(rng.random(300) < 0.2, 3.0, 0.6))
    test = ScoreTest(first)
    alone, given = extend(first, Law(components=2)), extend(first, Law(components=2), test=test)
    np.testing.assert_array_equal(given.theta, alone.theta)
    # A component that is said to be where there are no rows is begun there, and comes to less.
    nowhere = SimpleNamespace(component=(0.0, [Place(40.0, 0.4, 0.02)]))
    assert extend(first, Law(components=2), test=nowhere).bic > alone.bic + 1.0


# --- greedy -------------------------------------------------------------------------------------------------


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


def test_with_nothing_to_be_foretold_everything_is_tried():
    first = plain(np.random.default_rng(0).normal(size=300))
    allowed = {law for add in EXTENSIONS.values() if (law := add(Law())) is not None}
    every = greedy(first, EXTENSIONS, 3, part=0.0)
    assert (
        {one.law for model, one in every.tried if model is first}
        == allowed
        == {
            Law(components=2),
            Law(scale="E"),
            Law(scale="m"),
        }
    )
    # Of normal noise no score foretells anything.
    assert greedy(first, EXTENSIONS, 3).tried == []


@pytest.mark.parametrize("part", [0.0, FORETOLD], ids=["all", "foretold"])
@pytest.mark.parametrize("seed", range(3))
def test_a_search_never_ends_above_where_it_began(part, seed):
    rng = np.random.default_rng(seed)
    m = rng.normal(size=300)
    first = plain(rng.standard_t(4, size=300) * np.exp(0.2 * m), m=m)
    found = greedy(first, EXTENSIONS, 4, part=part)
    assert found.models[0] is first
    assert found.models[-1].bic == min(one.bic for one in found.models) < first.bic
    # Each model that others were tried on is better than the one before.
    bases = list(dict.fromkeys(model.bic for model, _ in found.tried))
    assert bases == sorted(bases, reverse=True)
    assert bases[0] == first.bic


@pytest.mark.parametrize("seed", range(3))
def test_what_is_not_tried_would_not_have_paid(seed):
    rng = np.random.default_rng(seed)
    E, m = rng.normal(size=(400, 2)), rng.normal(size=400)
    first = plain(rng.normal(size=400) * np.exp(0.4 * E[:, 0]), E, m)
    every, some = greedy(first, EXTENSIONS, 4, part=0.0), greedy(first, EXTENSIONS, 4)
    assert some.models[-1].law == every.models[-1].law == Law(scale="E")
    assert some.models[-1].bic == pytest.approx(every.models[-1].bic, abs=1e-3)
    assert len(some.tried) < len(every.tried)
    seen = {(model.law, one.law) for model, one in some.tried}
    left_out = [(model, one) for model, one in every.tried if (model.law, one.law) not in seen]
    assert all(one.bic > model.bic for model, one in left_out)


def test_an_extension_far_from_paying_is_not_tried_again_nor_its_variants():
    rng = np.random.default_rng(0)
    E, m = rng.normal(size=(300, 9)), rng.normal(size=300)
    first = plain(rng.normal(size=300) * np.exp(0.5 * m), E, m)
    asked = []

    def by(name, add):
        def extension(law):
            asked.append(name)
            return add(law)

        return extension

    names = {"by content": scale_by("m"), "by E": scale_by("E"), "by E: again": scale_by("E")}
    found = greedy(first, {name: by(name, add) for name, add in names.items()}, 3, part=0.0)
    assert found.models[-1].law == Law(scale="m")
    # In the first round, and "by content" in the second, where the law has it already.
    assert asked == ["by content", "by E", "by content"]


def test_a_search_that_cannot_reach_the_other_kind_does_not_go_on():
    rng = np.random.default_rng(0)
    E, m = rng.normal(size=(500, 1)), rng.normal(size=500)
    first = plain(rng.normal(size=500) * np.exp(0.25 * m + 0.15 * E[:, 0]), E, m)
    tried = {"by content": scale_by("m"), "by E": scale_by("E")}
    free = greedy(first, tried, 4)
    assert free.models[-1].law == Law(scale="Em")
    assert greedy(first, tried, 4, other=first.bic - 1e5).tried == []
    # From where the first extension came to, later ones may gain ten times as much, but not more.
    one = min((one for model, one in free.tried if model is first), key=lambda one: one.bic)
    reach = one.bic - LATER * (first.bic - one.bic)
    near, beyond = (greedy(first, tried, 4, part=0.0, other=reach + step) for step in (1.0, -1.0))
    assert near.models[-1].law == Law(scale="Em")
    assert beyond.models[-1].law == one.law
    assert all(model is first for model, _ in beyond.tried)


def test_rounds_bound_a_search():
    rng = np.random.default_rng(0)
    E, m = rng.normal(size=(500, 1)), rng.normal(size=500)
    first = plain(rng.normal(size=500) * np.exp(0.4 * m + 0.3 * E[:, 0]), E, m)
    tried = {"by content": scale_by("m"), "by E": scale_by("E")}
    assert laws(greedy(first, tried, 0).models) == [Law(), Law()]
    assert greedy(first, tried, 1).models[-1].law == Law(scale="m")
    assert greedy(first, tried, 2).models[-1].law == Law(scale="Em")


def test_two_searches_are_one_with_what_both_saw():
    one, other = Search(["a"], [("a", "b")]), Search(["c"], [])
    assert one + other == Search(["a", "c"], [("a", "b")])


# --- what may pay -------------------------------------------------------------------------------------------


def reached(bic, gained, other, states=0):
    model = SimpleNamespace(law=Law(states=states), bic=bic)
    return not out_of_reach(model, gained, other)


@pytest.mark.parametrize("states", [0, 1])
def test_reach_is_in_gains_of_the_last_round(states):
    assert (LATER, FAR_LATER) == (10.0, 2.0)
    assert reached(110.0, 1.0, 100.0, states)
    assert not reached(110.0, 0.9, 100.0, states)
    assert reached(90.0, 0.0, 100.0, states)
    assert reached(1e9, 0.0, np.inf, states)


def test_behind_a_lead_that_is_not_told_exactly_less_may_come_later_of_a_null_only():
    lead = THRESHOLDS.exact_lead
    assert reached(lead, 0.1 * lead, 0.0)
    assert not reached(1.1 * lead, 0.5 * lead, 0.0)
    assert reached(1.1 * lead, 0.6 * lead, 0.0)
    # Of a bias whose law of sizes is not right yet, the lag grows with the rows as its later gains do.
    for rows in (1.0, 10.0, 100.0):
        assert reached(1.1 * lead * rows, 0.12 * lead * rows, 0.0, states=1)


def stub(law, foretold, bic=0.0):
    """A score test of 400 rows with two content and two environment columns that foretells this."""
    n = 400
    problem = Problem(np.zeros(n), np.ones((n, 2)), np.ones((n, 2)), np.zeros(n), np.ones(n))
    model = replace(valued(problem, law, np.zeros(layout(law, 2, 2).size)), bic=bic)
    return SimpleNamespace(model=model, foretold=lambda _: foretold)


@pytest.mark.parametrize(
    ("small", "large", "more", "part"),
    [
        (Law(), Law(components=2), 3, 1.0),
        (Law(), Law(scale="E"), 2, 1.0),
        (Law(states=1), Law(states=1, cv=0.7), 1, 1.0),
        (Law(states=1), Law(states=2, shared_gate=True), 2, 1.0),
        (Law(states=1), Law(states=2), 4, OF_GATES),
    ],
    ids=lambda value: value.label if isinstance(value, Law) else str(value),
)
def test_a_law_may_pay_where_a_part_of_its_price_is_foretold(small, large, more, part):
    assert n_paid(large, 2, 2) - n_paid(small, 2, 2) == more
    price = 0.5 * more * np.log(400.0)
    assert may_pay(stub(small, 1.001 * part * 0.2 * price), large, 0.2)
    assert not may_pay(stub(small, 0.999 * part * 0.2 * price), large, 0.2)
    assert may_pay(stub(small, -5.0), large, 0.0)


def test_a_law_that_could_not_reach_the_other_kind_does_not_pay():
    # A gain of 6 in log likelihood is 12 in BIC, and ten such may follow.
    assert may_pay(stub(Law(), 6.0, bic=120.0), Law(scale="E"), 0.2, other=0.0)
    assert not may_pay(stub(Law(), 6.0, bic=120.1), Law(scale="E"), 0.2, other=0.0)
    assert may_pay(stub(Law(), 6.0, bic=120.1), Law(scale="E"), 0.0, other=0.0)
