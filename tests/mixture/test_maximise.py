from itertools import islice

import numpy as np
import pytest

from proxycal.mixture.criterion import bic
from proxycal.mixture.em import Rules, penalty, run
from proxycal.mixture.information import uphill
from proxycal.mixture.laws import Shape, posterior
from proxycal.mixture.maximise import BEHIND, maximise, out_of_reach, ungated, valued
from proxycal.mixture.select import FLOOR


@pytest.mark.parametrize("shape", [Shape(1), Shape(2, "shared", shift=True)], ids=["none", "shift"])
def test_a_model_is_worth_its_likelihood_over_all_chunks(shape, draw_rows, draw_params):
    parts = [draw_rows(n=40, seed=seed, weights=True) for seed in (0, 1)]
    params = draw_params(shape, parts[0])
    made = valued(shape, params, parts, n=80.0)
    loglik = sum(float(posterior(params, rows, shape).loglik[0] @ rows.weights) for rows in parts)
    assert made.loglik == pytest.approx(loglik, rel=1e-12)
    assert made.bic == pytest.approx(bic(shape, loglik, params, 80.0), rel=1e-12)
    assert not made.converged


def test_without_its_gate_a_model_gives_every_row_the_same_chance(draw_rows, draw_params):
    rows = draw_rows()
    shape = Shape(1, shift=True)
    params = draw_params(shape, rows)
    bare, start = ungated(shape, params)
    assert bare.gate == "constant"
    pi = posterior(start, rows, bare).pi[0]
    np.testing.assert_allclose(pi, 1.0 / (1.0 + np.exp(-params.gamma[0, 0])), rtol=1e-12)
    np.testing.assert_array_equal(start.beta, params.beta)
    np.testing.assert_array_equal(start.a, params.a)


@pytest.fixture
def far_from_the_maximum(draw_rows, draw_params):
    """600 rows and a model of two components that is as far from its maximum as a sample of few would be."""
    shape = Shape(2, "shared", shift=True)
    rows = draw_rows(n=600, seed=2)
    near = run(draw_params(shape, rows), [rows], Rules.of([shape], 3, FLOOR), 6, 1e-4).params
    return valued(shape, near, [rows], 600.0), [rows]


def test_a_model_climbs_to_where_em_would_creep(far_from_the_maximum):
    start, rows = far_from_the_maximum
    made = maximise(start, rows, FLOOR, 600.0)
    crept = run(start.params, rows, Rules.of([start.shape], 3, FLOOR), 9000, 1e-12)
    assert made.converged
    assert made.loglik - start.loglik > 1.0
    # EM maximises the likelihood less a ridge on the gate, which is not part of what a model is worth.
    assert made.loglik - float(penalty(made.params)[0]) == pytest.approx(crept.loglik[0], abs=1e-3)
    assert made.bic == pytest.approx(bic(made.shape, made.loglik, made.params, 600.0))


def test_a_model_that_cannot_come_below_the_bar_is_left_where_it_is(far_from_the_maximum):
    start, rows = far_from_the_maximum
    left = maximise(start, rows, FLOOR, 600.0, bar=start.bic - 1e4)
    assert not left.converged
    assert left.loglik == pytest.approx(start.loglik)
    np.testing.assert_array_equal(left.params.beta, start.params.beta)
    within = maximise(start, rows, FLOOR, 600.0, bar=maximise(start, rows, FLOOR, 600.0).bic + BEHIND)
    assert within.converged


def test_one_pass_tells_what_is_out_of_reach(far_from_the_maximum):
    start, rows = far_from_the_maximum
    rules, best = Rules.of([start.shape], 3, FLOOR), maximise(start, rows, FLOOR, 600.0).bic
    left = out_of_reach(start, rows, rules, 600.0, bar=best - 1e4)
    assert left is not None
    assert left.bic == pytest.approx(start.bic)
    assert out_of_reach(start, rows, rules, 600.0, bar=best) is None


def test_where_no_step_leads_up_em_goes_on(far_from_the_maximum, monkeypatch):
    start, rows = far_from_the_maximum
    climbs = []

    def none_the_first_time(*given):
        climbs.append(1)
        yield from islice(uphill(*given), 1 if len(climbs) == 1 else None)

    monkeypatch.setattr("proxycal.mixture.maximise.uphill", none_the_first_time)
    assert maximise(start, rows, FLOOR, 600.0).converged
    assert len(climbs) == 2
