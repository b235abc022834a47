"""Rows of a comparison: a further column, and some of the rows."""

import numpy as np
import pytest

from proxycal.mixture.wide.law import Law
from proxycal.mixture.wide.likelihood import Likelihood


def test_a_further_column_is_free_of_the_others(draw_problem):
    problem = draw_problem(weights=True)
    column = problem.X @ [1.0, 2.0, 3.0] + problem.E[:, 0]
    wider = problem.with_column(column)
    assert wider.X.shape[1] == 4
    added = wider.X[:, 3]
    assert np.average(added**2, weights=problem.weights) == pytest.approx(1.0)
    # The span is that of the columns and the new one.
    left = column - wider.X @ np.linalg.lstsq(wider.X, column, rcond=None)[0]
    np.testing.assert_allclose(left, 0.0, atol=1e-9)


def test_some_rows_are_those_rows(draw_problem, draw_theta):
    problem = draw_problem(weights=True, ranged=True)
    some = np.array([4, 9, 30])
    theta = draw_theta(Law(), problem)
    whole = Likelihood(problem, Law()).seen(theta).loglik
    np.testing.assert_allclose(Likelihood(problem.take(some), Law()).seen(theta).loglik, whole[some])
