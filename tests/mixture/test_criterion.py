"""What a model is worth: BIC by hand, a gate against a likelihood ratio test, samples against all rows."""

import numpy as np
import pytest
from scipy.stats import chi2

from proxycal.mixture.criterion import Model, bic, expected_bic, worth
from proxycal.mixture.laws import Shape
from proxycal.mixture.thresholds import THRESHOLDS


def test_bic_charges_the_log_of_the_weight_per_parameter(draw_rows, draw_params):
    rows = draw_rows(n=50, levels=2)
    plain, biased = Shape(1), Shape(1, shift=True)
    assert bic(plain, -70.0, draw_params(plain, rows), 200.0) == pytest.approx(140.0 + 4 * np.log(200.0))
    with_bias = (3 + 1 + 3 + 2) * np.log(200.0)
    assert bic(biased, -70.0, draw_params(biased, rows), 200.0) == pytest.approx(140.0 + with_bias)


def test_a_gate_has_to_beat_the_same_shift_without_one_in_a_likelihood_ratio_test(draw_rows, draw_params):
    gated, bare = Shape(1, shift=True), Shape(1, shift=True, gate="constant")
    params = draw_params(gated, draw_rows(n=50, q=6))
    for n in (500.0, 1e6):
        price = bic(gated, -70.0, params, n) - bic(bare, -70.0, params, n)
        assert price == pytest.approx(chi2.isf(THRESHOLDS.gate_test_p, 5))


@pytest.mark.parametrize("total", [400.0, 1e5])
def test_parameters_are_worth_what_makes_the_expected_bic_the_same(total, draw_rows, draw_params):
    rows = draw_rows(n=50)
    small, large = Shape(1), Shape(2, "shared")
    gained = worth(3, 400.0, total)
    before, after = (
        Model(shape, draw_params(shape, rows), loglik, 0.0, True)
        for shape, loglik in ((small, -70.0), (large, -70.0 + gained))
    )
    assert expected_bic(after, 400.0, total) == pytest.approx(expected_bic(before, 400.0, total), abs=1e-7)
    assert worth(3, 400.0, 400.0) == pytest.approx(1.5 * np.log(400.0))
