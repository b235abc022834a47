"""From the plain answer to the wider one: which of the two answers, with what guards, and through a file."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from proxycal.mixture.compare import fit_exact
from proxycal.mixture.designs import Data
from proxycal.mixture.wide.widen import WideLaw, widen


def data_with(report=None, n=700, seed=0):
    """Rows with noise of sd 1 around content; report(rng, e, t): what is reported of the true outcome t."""
    rng = np.random.default_rng(seed)
    e = rng.normal(size=(n, 2))
    z = 0.5 * e + 0.8 * rng.normal(size=(n, 2))
    P = z @ [[1.0, 0.3, 0.8], [0.2, 1.0, -0.5]] + 0.3 * rng.normal(size=(n, 3))
    t = z @ [1.5, 1.0] + rng.normal(size=n)
    y = t if report is None else report(rng, e, t)
    return Data(y, P, e, np.ones(n), np.ones(5, dtype=bool))


def who(rng, e):
    return rng.random(len(e)) < expit(-0.8 + 1.2 * e[:, 0] - 0.7 * e[:, 1])


@pytest.fixture(scope="module")
def varying():
    """Rows whose sizes vary, the plain answer and the wider one."""
    data = data_with(lambda rng, e, t: t + who(rng, e) * rng.gamma(4.0, 1.5, len(e)))
    plain = fit_exact(data)
    return data, plain, widen(plain, data)


def test_a_plain_bias_stands():
    data = data_with(lambda rng, e, t: t + 3.5 * who(rng, e), n=500, seed=2)
    plain = fit_exact(data)
    widened = widen(plain, data)
    assert widened.law is None
    assert widened.gain > 0.0
    assert widened.size == pytest.approx(3.5, rel=0.1)
    assert np.isnan(widened.detectable)
    assert widened.labels[0] == plain.labels[0]
    assert widened.rows == 500


@pytest.mark.parametrize("seed", [2, 3, 4])
def test_a_plain_bias_of_all_rows_stands_where_a_part_of_them_is_compared(seed):
    data = data_with(lambda rng, e, t: t + 3.5 * who(rng, e), n=900, seed=seed)
    plain, part = fit_exact(data), data.take(np.arange(0, 900, 3))
    # The maximum of the part is not that of all rows, where the plain model stands.
    widened = widen(plain, part, total=900.0)
    assert widened.law is None
    assert widened.rows == 300
    assert widened.gain > 2.0 * widen(plain, part).gain > 0.0


def test_with_few_rows_the_parameters_of_a_bias_cost_more(monkeypatch):
    leads = {}
    for n in (100, 500):
        data = data_with(lambda rng, e, t: t + 4.0 * who(rng, e), n=n, seed=3)
        plain = fit_exact(data)
        charged = widen(plain, data).gain
        with monkeypatch.context() as patched:
            patched.setattr("proxycal.mixture.wide.widen.undercharged", lambda k, n: 0.0)
            leads[n] = widen(plain, data).gain - charged
    assert leads[100] > 0.3
    assert 0.0 <= leads[500] < leads[100]


def test_a_wider_law_wins_where_sizes_vary(varying):
    _, _, widened = varying
    assert widened.law is not None
    assert widened.law.law.varies
    assert widened.size == pytest.approx(6.0, rel=0.12)
    assert widened.lowest <= widened.size <= widened.highest
    assert 0.0 < widened.se < 0.15 * widened.size
    assert widened.share == pytest.approx(0.36, abs=0.06)
    assert widened.guards.against < 0.03
    assert widened.guards.gate_r2 < 0.85


def test_a_plain_answer_that_was_asked_for_stands(varying):
    data, plain, _ = varying
    assert widen(plain, data, one_size=True).law is None


def test_without_a_bias_the_size_that_would_have_been_found_is_said():
    data = data_with(n=500)
    widened = widen(fit_exact(data), data)
    assert widened.gain <= 0.0
    assert 0.5 < widened.detectable < 3.0


def test_the_law_answers_for_rows_and_comes_back_from_a_file(varying):
    data, plain, widened = varying
    law, rows = widened.law, plain.bias.frame.rows(data)
    values, arrays = law.state()
    again = WideLaw.from_state(json.loads(json.dumps(values)), arrays)
    one, other = law.answers(rows), again.answers(rows)
    for name in ("p_biased", "size", "spread", "mu", "prior", "against"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert again.law == law.law


def test_slopes_are_those_of_the_answers(varying):
    data, plain, widened = varying
    rows = plain.bias.frame.rows(data.take(np.arange(20)))
    p, size = widened.law.slopes(rows)
    direction = np.random.default_rng(0).normal(size=len(widened.law.theta))
    ends = [replace(widened.law, theta=widened.law.theta + by * direction) for by in (1e-5, -1e-5)]
    up, down = (law.answers(rows) for law in ends)
    np.testing.assert_allclose(p @ direction, (up.p_biased - down.p_biased) / 2e-5, atol=1e-3)
    np.testing.assert_allclose(size @ direction, (up.size - down.size) / 2e-5, rtol=1e-2, atol=1e-2)


def test_an_unknown_intercept_makes_rows_less_sure(varying):
    data, plain, widened = varying
    rows = plain.bias.frame.rows(data)
    sure = widened.law.answers(rows).p_biased
    unsure = replace(widened.law, tau=1.0).answers(rows).p_biased
    assert np.mean(unsure * (1.0 - unsure)) > np.mean(sure * (1.0 - sure))


def test_parts_of_the_outcome_are_shares_that_sum_to_one(varying):
    data, plain, widened = varying
    unbiased, biased = widened.law.parts(plain.bias.frame.rows(data))
    np.testing.assert_allclose(unbiased[0].sum(axis=0) + biased[0].sum(axis=0), 1.0)
    assert np.average(biased[1], weights=biased[0]) > np.average(unbiased[1], weights=unbiased[0])
