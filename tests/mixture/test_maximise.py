import numpy as np
import pytest

from proxycal.mixture.laws import Shape, posterior
from proxycal.mixture.maximise import ungated, valued
from proxycal.mixture.select import bic


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
