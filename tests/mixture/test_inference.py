from dataclasses import replace

import numpy as np
import pytest

from proxycal.mixture.inference import orient
from proxycal.mixture.laws import Shape, posterior


def swapped(params):
    """The same mixture with the two labels swapped: A = 0 is the shifted one, and the shift is negative."""
    beta = params.beta.copy()
    beta[:, :, 0] += params.a[:, :1]
    return replace(params, beta=beta, a=-params.a, gamma=-params.gamma)


@pytest.mark.parametrize("seed", range(4))
def test_turning_the_labels_round_fits_alike_and_makes_the_bias_point_up(seed, draw_rows, draw_params):
    rows, shape = draw_rows(seed=seed), Shape(2, "shared", shift=True)
    up = draw_params(shape, rows, seed=seed)
    up.a[:] = np.abs(up.a)
    turned = orient(swapped(up), [rows])
    one, other = posterior(up, rows, shape), posterior(turned, rows, shape)
    np.testing.assert_allclose(other.loglik, one.loglik, atol=1e-8)
    np.testing.assert_allclose(other.p_biased, one.p_biased, atol=1e-8)
    np.testing.assert_allclose(turned.a, up.a, atol=1e-12)


def test_a_bias_that_points_up_is_left_as_it_is(draw_rows, draw_params):
    rows, shape = draw_rows(), Shape(1, shift=True)
    params = draw_params(shape, rows)
    params.a[:] = 1.0
    np.testing.assert_array_equal(orient(params, [rows]).a, params.a)


def test_with_trusted_rows_the_labels_are_not_turned_round(draw_rows, draw_params):
    rows = draw_rows(n=40)
    params = draw_params(Shape(1, shift=True), rows)
    params = replace(params, a=-np.abs(params.a))
    assert orient(params, [replace(rows, trusted=np.zeros(40, dtype=bool))]).a[0, 0] > 0.0
    assert orient(params, [replace(rows, trusted=np.arange(40) < 3)]).a[0, 0] < 0.0
