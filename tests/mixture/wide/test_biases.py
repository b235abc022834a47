"""Models with a bias: where they start, what they may have, and the other laws that explain rows alike."""

import numpy as np
import pytest

from proxycal.mixture.wide.biases import (
    explains_alike,
    extensions,
    first_bias,
    guesses,
    law_of_sizes,
    other_sizes,
    rejects_one_size,
    search_biases,
)
from proxycal.mixture.wide.fit import Fitted, fit, plain_start
from proxycal.mixture.wide.law import Law
from proxycal.mixture.wide.problem import Problem
from proxycal.mixture.wide.search import Search, greedy


def problem_of(setup):
    return Problem(setup.y, setup.X, setup.E, np.zeros_like(setup.y), setup.weights)


@pytest.mark.parametrize("share", [-2.5, 0.0, 3.0], ids=["few", "half", "most"])
def test_one_size_is_found_from_guesses_alone(share, draw, who):
    setup, scale = draw(lambda rng, e, z, t: t + 5.0 * who(rng, e, share), n=600)
    bias = first_bias(problem_of(setup), None)
    assert bias.theta[bias.likelihood.at.alpha][0] * scale == pytest.approx(5.0, rel=0.06)


def test_a_good_guess_is_heard(draw, who):
    setup, _ = draw(lambda rng, e, z, t: t + 3.0 * who(rng, e), n=600)
    problem = problem_of(setup)
    assert all(guess.shape == (600,) for guess in guesses(problem))
    alone = first_bias(problem, None)
    told = first_bias(problem, np.clip(alone.likelihood.seen(alone.theta).r[1, 0], 0.0, 1.0))
    assert told.bic <= alone.bic + 0.01


def test_what_a_bias_may_have():
    may = extensions(True, 2)
    one = Law(states=1)
    assert may["gate by content"](one).gate == "E m"
    assert may["gate by products"](Law(states=1, gate="E m")).gate == "E Q m"
    assert may["gate by truth"](one).gate == "E y"
    two = may["another size"](one)
    assert two == Law(states=2, shared_gate=True)
    assert may["gate of each size"](two) == may["gate of each size"](one) == Law(states=2)
    assert may["another size"](may["another size"](two)) is None
    # A gamma law and a normal spread are two laws of the same sizes.
    assert may["spread"](Law(states=1, cv=0.7)) is None
    assert not may["gamma sizes"](Law(states=1, spread=True)).spread
    # A gate by the true outcome is a law of one size, and of outcomes known as numbers.
    assert may["gate by truth"](Law(states=2)) is None
    assert extensions(False, 2)["gate by truth"](one) is None
    # Products of many columns are too many for a gate.
    assert extensions(True, 9)["gate by products"](one) is None


def test_the_search_never_ends_below_where_it_began(draw, who):
    setup, _ = draw(lambda rng, e, z, t: t + 3.0 * who(rng, e), n=400)
    problem = problem_of(setup)
    first = first_bias(problem, None)
    null = fit(problem, Law(components=1), plain_start(problem, Law()))
    search = search_biases(first, null)
    assert min(model.bic for model in search.models) <= first.bic
    assert all(model.law.claims_bias for model in search.models)


def test_other_sizes_that_the_search_has_tried_are_what_they_would_be_without_it(draw, who):
    setup, _ = draw(lambda rng, e, z, t: t + 3.0 * who(rng, e) * rng.gamma(2.0, 0.5, len(t)), n=400)
    problem = problem_of(setup)
    null = fit(problem, Law(components=1), plain_start(problem, Law()))
    search = search_biases(first_bias(problem, None), null)
    best = min(search.models, key=lambda model: model.bic)
    kept, anew = (other_sizes(best, known) for known in (search, Search([], [])))
    assert any(model is best and one.law in {other.law for other in kept} for model, one in search.tried)
    assert [model.law for model in kept] == [model.law for model in anew]
    # Two ways up end within their precision of the same maximum.
    np.testing.assert_allclose([one.loglik for one in kept], [one.loglik for one in anew], rtol=0, atol=1e-3)


def test_other_sizes_that_a_score_test_rules_out_explain_the_rows_less_well(draw, who):
    setup, _ = draw(lambda rng, e, z, t: t + 3.0 * who(rng, e), n=400)
    first = first_bias(problem_of(setup), None)
    every = other_sizes(first, greedy(first, extensions(True, 2), 1, part=0.0))
    few = other_sizes(first, Search([], []))
    left_out = [one for one in every if one.law not in {other.law for other in few}]
    assert left_out
    assert not any(explains_alike(one, first) for one in left_out)


def test_a_test_and_not_the_criterion_says_whether_there_is_one_size(draw_problem):
    problem = draw_problem(n=400)

    def model(law, loglik):
        # The price of a parameter, log(400) = 6, is more than what a test at 0.001 asks for each of two.
        size = Fitted(law, problem, np.zeros(0), 0.0, 0.0).size
        return Fitted(law, problem, np.zeros(0), loglik, size * np.log(400.0) - 2.0 * loglik)

    one, two = Law(states=1), Law(states=2, shared_gate=True)
    plain, clear, chance = model(one, -100.0), model(two, -92.0), model(two, -94.0)
    assert law_of_sizes(plain, [plain, clear]) is clear
    assert law_of_sizes(plain, [plain, chance]) is plain
    assert rejects_one_size(clear, [plain, clear]) is plain
    assert rejects_one_size(chance, [plain, chance]) is None
    assert rejects_one_size(plain, [plain, clear]) is None
    # Of several sizes, one more is always inside the interval; beside one size it has to explain more.
    three = model(Law(states=3, shared_gate=True), -93.0)
    assert explains_alike(three, clear)
    assert not explains_alike(model(two, -99.0), plain)
    # Another shape of the content is another model, not another law of sizes.
    assert law_of_sizes(plain, [plain, model(Law(states=2, shared_gate=True, components=2), -80.0)]) is plain
