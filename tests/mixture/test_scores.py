"""The scores of rows against those of each row alone, and sums that never form them against those that do."""

import numpy as np
import pytest

from proxycal.mixture.laws import Rows, Shape
from proxycal.mixture.scores import RowScores

SHAPES = [
    Shape(1),
    Shape(3, "shared"),
    Shape(1, scale="environment", shift=True),
    Shape(2, "own", shift=True, gate="constant"),
    Shape(3, "own", "content", "environment", shift=True),
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.label)
def test_sums_are_those_of_the_scores_of_rows(shape, draw_rows, draw_params):
    rows = draw_rows(n=30, levels=2, weights=True)
    params = draw_params(shape, rows)
    scores = RowScores(params, rows, shape)
    by_row = scores.averaged((1.0, 1.0))
    score, _, meat = scores.sums(meat=True)
    np.testing.assert_allclose(score, rows.weights @ by_row, atol=1e-10)
    np.testing.assert_allclose(meat, (by_row.T * rows.weights) @ by_row, atol=1e-10)
    assert scores.sums(meat=False)[2] is None


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.label)
def test_the_score_of_a_row_is_that_of_the_row_alone(shape, draw_rows, draw_params):
    rows = draw_rows(n=6, levels=2)
    params = draw_params(shape, rows)
    parts = (rows.y, rows.X, rows.G, rows.D, np.ones(6))
    single = [Rows(*(v[i : i + 1] for v in parts)) for i in range(6)]
    alone = np.array([RowScores(params, row, shape).sums(meat=False)[0] for row in single])
    np.testing.assert_allclose(RowScores(params, rows, shape).averaged((1.0, 1.0)), alone, atol=1e-12)
