"""Regression calibration against least squares, prediction-powered means against formula and simulation."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from proxycal.errors import TableError
from proxycal.studies.validated import (
    prediction_powered_mean,
    regression_calibration,
    two_valued_floor,
)


def some(n, N, seed, slope=0.8):
    """Truth with mean 10, and a prediction that is off by a constant, scaled and noisy."""
    rng = np.random.default_rng(seed)
    y = 10.0 + 3.0 * rng.normal(size=n + N)
    f = 2.0 + slope * y + rng.normal(size=n + N)
    truth = np.where(np.arange(n + N) < n, y, np.nan)
    return truth, f


def test_regression_calibration_is_least_squares_on_the_validated_rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 4))
    y = X @ np.array([1.0, -2.0, 0.5, 0.0]) + 3.0 + rng.normal(size=200)
    truth = np.where(np.arange(200) < 60, y, np.nan)
    expected = LinearRegression().fit(X[:60], y[:60]).predict(X)
    np.testing.assert_allclose(regression_calibration(truth, X), expected, rtol=1e-10)


def test_regression_calibration_survives_columns_that_repeat_each_other():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(100, 1))
    truth = np.where(np.arange(100) < 30, 2.0 * x[:, 0], np.nan)
    np.testing.assert_allclose(regression_calibration(truth, np.hstack([x, x])), 2.0 * x[:, 0], atol=1e-9)


def test_without_trust_in_the_predictions_the_validated_mean_remains():
    truth, f = some(50, 500, 0)
    made = prediction_powered_mean(truth, f, lam=0.0)
    y = truth[:50]
    assert made.mean == pytest.approx(y.mean())
    assert made.se == pytest.approx(y.std(ddof=1) / np.sqrt(50))
    assert (made.low + made.high) / 2 == pytest.approx(made.mean)
    assert made.high - made.mean == pytest.approx(1.959964 * made.se, rel=1e-6)


def test_full_trust_is_the_difference_estimator():
    truth, f = some(50, 500, 1)
    made = prediction_powered_mean(truth, f, lam=1.0)
    rest = truth[:50] - f[:50]
    assert made.mean == pytest.approx(f[50:].mean() + rest.mean())
    assert made.se**2 == pytest.approx(f[50:].var(ddof=1) / 500 + rest.var(ddof=1) / 50)


def test_the_chosen_trust_has_least_variance():
    truth, f = some(100, 2000, 2)
    best = prediction_powered_mean(truth, f)
    around = [prediction_powered_mean(truth, f, lam=best.lam + step).se for step in (-0.2, -0.1, 0.1, 0.2)]
    assert best.se < min(around)
    exact = 0.8 * 9.0 / ((1 + 100 / 2000) * (0.64 * 9.0 + 1.0))
    assert best.lam == pytest.approx(exact, rel=0.1)
    given = np.cov(truth[:100], f[:100])[0, 1] / ((1 + 100 / 2000) * f.var(ddof=1))
    assert best.lam == pytest.approx(given, rel=1e-12)


def test_intervals_cover_the_mean_as_often_as_they_say_and_gain_from_predictions():
    made = [prediction_powered_mean(*some(80, 1000, seed)) for seed in range(600)]
    alone = [prediction_powered_mean(*some(80, 1000, seed), lam=0.0) for seed in range(600)]
    covered = np.mean([one.low <= 10.0 <= one.high for one in made])
    assert 0.92 < covered < 0.975
    assert np.mean([one.mean for one in made]) == pytest.approx(10.0, abs=0.04)
    assert np.std([one.mean for one in made]) < 0.6 * np.std([one.mean for one in alone])
    assert np.std([one.mean for one in made]) == pytest.approx(np.mean([one.se for one in made]), rel=0.1)


def test_a_constant_prediction_adds_nothing():
    truth, f = some(40, 100, 3)
    assert prediction_powered_mean(truth, np.zeros_like(f)).mean == pytest.approx(truth[:40].mean())


def test_too_few_rows_are_refused():
    with pytest.raises(TableError, match="there are 0"):
        regression_calibration(np.full(5, np.nan), np.ones((5, 1)))
    with pytest.raises(TableError, match="1 validated rows and 4 others"):
        prediction_powered_mean(np.array([1.0, *[np.nan] * 4]), np.ones(5))


def test_floor_of_a_two_valued_error_is_its_noise_and_finds_size_and_share():
    rng = np.random.default_rng(4)
    a = rng.random(20_000) < 0.3
    floor = two_valued_floor(-5.0 * a + 0.5 * rng.normal(size=20_000), -1.0, np.arange(0.5, 10.0, 0.5))
    assert (floor.alpha, floor.share) == (5.0, pytest.approx(0.3, abs=0.01))
    assert floor.rmse == pytest.approx(0.5, abs=0.01)


def test_floor_of_a_plain_error_is_no_zero():
    gap = np.random.default_rng(5).normal(size=20_000)
    assert two_valued_floor(gap, 1.0, np.arange(0.1, 3.0, 0.1)).rmse > 0.7
