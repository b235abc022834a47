"""Arithmetic as a tree: signs on either side, sums, choices; numbers of numpy leave it alone."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest
from scipy.special import expit

from proxycal.methods.expression import (
    ClosedForm,
    as_expression,
    choose,
    clipped,
    column,
    exp,
    largest,
    linear,
    ln,
    logistic,
    total,
)
from proxycal.sql.dialects import DIALECTS

X = column("x")


def value(expression, x: float) -> float:
    sql = DIALECTS["duckdb"].write(expression, {})
    return duckdb.execute(f"SELECT {sql} FROM (SELECT CAST(? AS DOUBLE) AS x) AS t", [x]).fetchone()[0]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (1.0 + X - 2.0, lambda x: x - 1.0),
        (3.0 - X * 2.0, lambda x: 3.0 - 2.0 * x),
        (6.0 / (X / 2.0), lambda x: 12.0 / x),
        (np.float64(2.0) * X, lambda x: 2.0 * x),
        (total([X, X, as_expression(1.0)]), lambda x: 2.0 * x + 1.0),
        (total([]) + X, lambda x: x),
        (linear(0.5, np.array([2.0, 0.0, -1.0]), [X, X, X * X]), lambda x: 0.5 + 2.0 * x - x * x),
        (choose(X.below(0.0), -1.0, 1.0), lambda x: -1.0 if x < 0 else 1.0),
        (clipped(X, -1.0, 1.0), lambda x: min(max(x, -1.0), 1.0)),
        (largest([X, -1.0 * X, as_expression(2.0)]), lambda x: max(x, -x, 2.0)),
        (ln(exp(X)), lambda x: x),
        (logistic(X), expit),
        (ClosedForm(as_expression(0.5), X).y_cal(2.0 * X), lambda x: 1.5 * x),
        (ClosedForm(as_expression(0.5), X, factor=True).y_cal(2.0 * X), lambda x: x * (1.0 + np.exp(-x))),
    ],
)
@pytest.mark.parametrize("x", [-3.25, 0.125, 7.0])
def test_what_is_written_is_what_is_computed(expression, expected, x):
    assert value(expression, x) == pytest.approx(expected(x), rel=1e-13)


@pytest.mark.parametrize("x", [-1e6, 1e6])
def test_the_logistic_function_never_overflows(x):
    assert value(logistic(X), x) == pytest.approx(float(x > 0), abs=1e-300)
