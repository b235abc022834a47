"""One component and one size: the same likelihood in both engines, and the same maximum as EM and Newton."""

from dataclasses import replace

import numpy as np
import pytest

from proxycal.mixture.em import Rules, run
from proxycal.mixture.information import newton
from proxycal.mixture.laws import Shape, posterior
from proxycal.mixture.one_size import BARE_SHAPE, LAW, SHAPE, climb, from_law, is_one_size, to_law
from proxycal.mixture.wide.likelihood import Likelihood
from proxycal.mixture.wide.problem import Problem

FLOOR = 0.02


def problem_of(rows):
    return Problem(rows.y, rows.X, rows.G[:, 1:], np.zeros_like(rows.y), rows.weights, FLOOR)


def test_both_engines_give_every_row_the_same_likelihood(draw_rows, draw_params):
    rows = draw_rows(n=80, weights=True)
    params = draw_params(SHAPE, rows)
    mine = Likelihood(problem_of(rows), LAW).seen(to_law(params)).loglik
    np.testing.assert_allclose(mine, posterior(params, rows, SHAPE).loglik[0], rtol=1e-10)


def test_parameters_go_there_and_back(draw_rows, draw_params):
    params = draw_params(SHAPE, draw_rows())
    again = from_law(to_law(params), params)
    for name in ("beta", "log_sigma", "a", "gamma", "omega", "scale"):
        np.testing.assert_array_equal(getattr(again, name), getattr(params, name))


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("shape", [SHAPE, BARE_SHAPE], ids=lambda shape: shape.label)
def test_the_maximum_is_that_of_em_and_newton(shape, weights, draw_rows, draw_params):
    rows = draw_rows(n=400, weights=weights)
    start, rules = draw_params(shape, rows), Rules.of([shape], 3, FLOOR)
    mine, loglik = climb(shape, start, rows, FLOOR)
    theirs, converged = newton(run(start, [rows], rules, 300, 1e-9).params, [rows], rules)
    assert converged
    assert mine.a[0, 0] == pytest.approx(theirs.a[0, 0], abs=1e-4)
    np.testing.assert_allclose(mine.beta, theirs.beta, atol=1e-4)
    np.testing.assert_allclose(mine.gamma, theirs.gamma, atol=1e-3)
    assert loglik == pytest.approx(float(posterior(theirs, rows, shape).loglik[0] @ rows.weights), abs=1e-5)


def test_trusted_rows_are_not_biased(draw_rows, draw_params):
    rows = draw_rows(n=300)
    rows = type(rows)(rows.y, rows.X, rows.G, rows.D, rows.weights, np.arange(300) < 150)
    params, loglik = climb(SHAPE, draw_params(SHAPE, rows), rows, FLOOR)
    seen = posterior(params, rows, SHAPE)
    assert loglik == pytest.approx(float(seen.loglik[0].sum()), rel=1e-9)
    assert seen.p_biased[0, :150].max() < 1e-12
    assert seen.p_biased[0, 150:].max() > 0.5


def test_other_shapes_and_sizes_by_level_are_no_one_size(draw_rows):
    rows, by_level = draw_rows(), draw_rows(levels=2)
    assert is_one_size(SHAPE, rows)
    assert is_one_size(BARE_SHAPE, rows)
    assert not is_one_size(SHAPE, by_level)
    assert not is_one_size(Shape(1, scale="environment", shift=True), rows)
    assert not is_one_size(Shape(1), rows)
    assert not is_one_size(SHAPE, replace(rows, weights=np.ones((2, 60))))
