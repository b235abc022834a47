"""One slope given controls: against least squares and refits without a row."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from proxycal.methods.checks.slopes import row_influence, size_of_noise_p, slope_test


def test_slope_and_its_robust_t_are_those_of_least_squares():
    rng = np.random.default_rng(1)
    C = np.column_stack([np.ones(80), rng.normal(size=80)])
    x, y = rng.normal(size=(2, 80))
    w = rng.uniform(0.5, 2.0, 80)
    X = np.column_stack([C, x])
    bread = np.linalg.inv(X.T @ (X * w[:, None]))
    beta = bread @ X.T @ (w * y)
    e = w * (y - X @ beta)
    se = np.sqrt((bread @ ((X * e[:, None]).T @ (X * e[:, None])) @ bread)[2, 2])
    slope, t = slope_test(y, x, C, w)
    assert slope == pytest.approx(beta[2])
    assert t == pytest.approx(beta[2] / se)
    # Each row twice as a cluster of two: the same t, where rows alone would give sqrt(2) more.
    twice = [np.repeat(values, 2, axis=0) for values in (y, x, C, w)]
    assert slope_test(*twice, np.repeat(np.arange(80), 2))[1] == pytest.approx(t)
    assert slope_test(y, np.ones(80), C, w) == (0.0, 0.0)


def test_the_size_of_the_noise_is_tested_as_a_regression_with_robust_errors():
    rng = np.random.default_rng(4)
    E, square, w = rng.normal(size=(90, 2)), rng.exponential(size=90), rng.uniform(0.5, 2.0, 90)
    X, size = np.column_stack([np.ones(90), E]), np.sqrt(square)
    bread = np.linalg.inv(X.T @ (X * w[:, None]))
    beta = bread @ X.T @ (w * size)
    scores = X * (w * (size - X @ beta))[:, None]
    cov = (bread @ scores.T @ scores @ bread)[1:, 1:]
    p = chi2.sf(beta[1:] @ np.linalg.solve(cov, beta[1:]), 2)
    assert size_of_noise_p(square, E, w) == pytest.approx(p)


def test_influence_is_what_leaving_a_row_out_does():
    rng = np.random.default_rng(5)
    X = np.column_stack([np.ones(60), rng.normal(size=(60, 4))])
    a = (rng.random(60) < 0.4).astype(float)
    y = X[:, 1] + 2.0 * a + rng.normal(size=60)
    w = np.ones(60)
    influence, se = row_influence(y, X, a, w)

    def slope(rows: np.ndarray) -> float:
        return float(np.linalg.lstsq(np.column_stack([X, a])[rows], y[rows], rcond=None)[0][-1])

    rows = np.arange(60)
    moved = np.array([slope(rows) - slope(np.delete(rows, i)) for i in range(60)])
    # Frisch-Waugh keeps what X explains fixed, which is all but exact for one row of many.
    assert np.corrcoef(influence, moved)[0, 1] > 0.99
    many = np.argsort(-np.abs(moved))[:20]
    assert np.median(influence[many] / moved[many]) == pytest.approx(1.0, abs=0.08)
    # The error is that of the slope's robust t.
    slope_all, t = slope_test(y, a, X, w)
    assert se == pytest.approx(abs(slope_all / t))
