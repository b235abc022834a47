"""Explanations without a bias: found where they are true, and never called a bias."""

from dataclasses import replace

import numpy as np
import pytest

from proxycal.mixture.wide.answer import answers
from proxycal.mixture.wide.biases import first_bias
from proxycal.mixture.wide.fit import polished
from proxycal.mixture.wide.law import Law
from proxycal.mixture.wide.nulls import EXTENSIONS, nulls_from, search_nulls, skewed, ungated
from proxycal.mixture.wide.problem import Problem


def problem_of(setup):
    index = setup.X @ np.linalg.lstsq(setup.X, setup.y, rcond=None)[0]
    m = (index - index.mean()) / index.std()
    return Problem(setup.y, setup.X, setup.E, m, setup.weights)


def best(models):
    return min(models, key=lambda model: model.bic)


def test_normal_noise_stays_plain(draw):
    assert best(search_nulls(problem_of(draw(n=600)[0]), np.inf)).law == Law()


def test_noise_whose_spread_follows_the_environment(draw):
    setup, _ = draw(
        lambda rng, e, z, t: z @ [1.5, 1.0] + np.exp(0.6 * e[:, 0]) * rng.normal(size=len(e)), n=600
    )
    assert best(search_nulls(problem_of(setup), np.inf)).law.scale == "E"


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_skewed_noise_is_found_with_its_side(side, draw):
    def report(rng, e, z, t):
        return z @ [1.5, 1.0] + side * (rng.exponential(1.0, len(e)) - 1.0) * np.exp(0.7 * e[:, 0])

    models = skewed(problem_of(draw(report)[0]))
    assert np.sign(best(models).law.skew) == side
    assert best(models).bic < best(search_nulls(problem_of(draw(report)[0]), np.inf)).bic + 1e-6


def test_even_noise_asks_for_no_skew(draw):
    assert skewed(problem_of(draw(n=600)[0])) == []


def test_components_need_company_for_weights_and_slopes():
    assert EXTENSIONS["weights by content"](Law()) is None
    assert EXTENSIONS["own slopes"](Law(components=2)).own_slopes
    assert EXTENSIONS["scale by component"](Law(components=2, scale="m")).scale == "Em"
    assert EXTENSIONS["scale by E"](Law(scale="E")) is None
    assert EXTENSIONS["components"](Law(components=4)) is None
    assert not any((grown := add(Law())) is not None and grown.states for add in EXTENSIONS.values())


def test_a_step_of_the_environment_is_a_column_of_the_mean(draw):
    setup, _ = draw(lambda rng, e, z, t: t + 2.0 * (e[:, 0] > 0.5), n=1000)
    problem = problem_of(setup)
    bias = first_bias(problem, None)
    null = best(search_nulls(problem, bias.bic))
    expected = answers(bias.likelihood, bias.theta).prior
    models = nulls_from(bias, null, problem, expected)
    assert best(models).law.columns == 1
    assert best(models).bic < min(null.bic, bias.bic)
    assert nulls_from(bias, null, problem, np.ones(1000)) == []


def test_a_bias_without_its_gate_is_charged_for_the_test_of_it(draw, who):
    setup, _ = draw(lambda rng, e, z, t: t + 4.0 * who(rng, e), n=600)
    bias = first_bias(problem_of(setup), None)
    (bare,) = ungated(bias)
    assert bare.law == replace(bias.law, gate="m")
    # Two slopes of E: chi-square 13.8 at p = 0.001, less than their price in BIC plus one slope of content.
    price = 2.0 * np.log(600) - 13.82
    raw = bare.size * np.log(600) - 2.0 * bare.loglik
    assert bare.bic - raw == pytest.approx(max(price, 0.0), abs=0.01)
    assert bias.bic < bare.bic


@pytest.mark.parametrize("size", [0.0, 1.0, 4.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_bias_without_its_gate_is_left_out_only_where_it_cannot_be_the_best(draw, who, size, seed):
    setup, _ = draw(lambda rng, e, z, t: t + size * who(rng, e), n=600, seed=seed)
    bias = polished(first_bias(problem_of(setup), None))
    (bare,) = ungated(bias)
    bars = np.linspace(bias.bic - 60.0, bare.bic + 1.0, 40)
    left_out = [bar for bar in bars if not ungated(bias, bar)]
    assert left_out
    assert max(left_out) < bare.bic
