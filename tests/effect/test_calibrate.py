"""The calibrated outcome against closed forms, an independent root finder and simulated coverage."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from proxycal.effect import calibrate as module
from proxycal.effect.calibrate import calibrate
from proxycal.errors import SettingsError, TableError


def test_shift_is_soft_and_signed():
    y, p = np.array([10.0, 10.0, 10.0]), np.array([0.0, 0.25, 1.0])
    over, under = (calibrate(y, p, alpha=4.0, direction=d) for d in ("over", "under"))
    np.testing.assert_allclose(over.y_cal, [10.0, 9.0, 6.0])
    np.testing.assert_allclose(under.y_cal, [10.0, 11.0, 14.0])
    np.testing.assert_allclose(over.shift, [0.0, 1.0, 4.0])
    np.testing.assert_allclose(under.shift, [0.0, -1.0, -4.0])


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_certain_rows_have_the_closed_form(level):
    z = norm.ppf(0.5 + level / 2)
    done = calibrate(np.array([1.0, 1.0]), np.array([0.0, 1.0]), 2.0, se_alpha=0.3, sigma=0.4, level=level)
    np.testing.assert_allclose(done.low, [1.0 - z * 0.4, -1.0 - z * 0.5], rtol=1e-9)
    np.testing.assert_allclose(done.high, [1.0 + z * 0.4, -1.0 + z * 0.5], rtol=1e-9)


def test_without_any_error_a_certain_row_is_a_point():
    done = calibrate(np.array([1.0, 1.0]), np.array([0.0, 1.0]), 2.0)
    np.testing.assert_allclose(done.low, [1.0, -1.0], atol=1e-12)
    np.testing.assert_allclose(done.high, [1.0, -1.0], atol=1e-12)


def test_interval_ends_are_quantiles_of_the_mixture():
    rng = np.random.default_rng(0)
    y, p = rng.normal(size=40), rng.uniform(0.05, 0.95, 40)
    alpha, se, sigma = rng.uniform(0.5, 3.0, 40), rng.uniform(0.05, 0.5, 40), rng.uniform(0.1, 0.6, 40)
    done = calibrate(y, p, alpha, se, sigma)
    for i in range(40):

        def cdf(x, i=i):
            not_biased = norm.cdf(x, y[i], sigma[i])
            return (1 - p[i]) * not_biased + p[i] * norm.cdf(x, y[i] - alpha[i], np.hypot(se[i], sigma[i]))

        ends = [brentq(lambda x, q=q: cdf(x) - q, -30, 30, xtol=1e-13) for q in (0.025, 0.975)]
        assert done.low[i] == pytest.approx(min(ends[0], done.y_cal[i]), abs=1e-9)
        assert done.high[i] == pytest.approx(max(ends[1], done.y_cal[i]), abs=1e-9)


def test_doubtful_rows_span_both_cases():
    done = calibrate(np.array([0.0]), np.array([0.5]), 3.0, se_alpha=0.1)
    assert done.low[0] < -3.0
    assert done.high[0] == pytest.approx(0.0, abs=1e-12)


def test_the_calibrated_value_is_always_inside():
    rng = np.random.default_rng(1)
    n = 5000
    p = rng.choice([0.0, 1e-12, 0.001, 0.02, 0.5, 0.98, 0.9999, 1.0], n)
    args = (rng.normal(size=n) * 1e3, p, rng.normal(size=n) * 5, rng.choice([0.0, 0.1, 3.0], n))
    for direction in ("over", "under"):
        for sigma in (0.0, 0.2):
            done = calibrate(*args, sigma=sigma, direction=direction)
            assert (done.low <= done.y_cal).all()
            assert (done.y_cal <= done.high).all()


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_interval_covers_the_truth(level):
    # The world that the interval describes: p is right, alpha_hat misses by its standard error.
    rng = np.random.default_rng(2)
    n, alpha, se, sigma = 400, 2.0, 0.3, 0.2
    covered = []
    for _ in range(100):
        p = rng.beta(0.3, 0.3, n)
        truth = rng.normal(size=n)
        y = truth + alpha * (rng.random(n) < p) + sigma * rng.normal(size=n)
        done = calibrate(y, p, alpha + se * rng.normal(), se, sigma, level=level)
        covered.append(np.mean((done.low <= truth) & (truth <= done.high)))
    # Pulling the interval out to the mean adds a little where p is near 0 or 1.
    assert level - 0.02 < np.mean(covered) < level + 0.05


def test_ignoring_the_error_of_alpha_would_not_cover():
    rng = np.random.default_rng(3)
    p, truth = np.ones(500), rng.normal(size=500)
    y = truth + 2.0
    wrong = 2.0 + 0.3
    assert (calibrate(y, p, wrong, se_alpha=0.0).high < truth).all()
    assert (calibrate(y, p, wrong, se_alpha=0.3).high > truth).all()


def test_calibrating_beats_leaving_alone_and_hard_labels():
    rng = np.random.default_rng(4)
    p = rng.beta(0.5, 0.5, 20_000)
    truth, a = rng.normal(size=20_000), rng.random(20_000) < p
    y = truth + 2.0 * a
    soft, hard = calibrate(y, p, 2.0).y_cal, calibrate(y, (p > 0.5).astype(float), 2.0).y_cal
    error = [np.sqrt(np.mean((v - truth) ** 2)) for v in (y, hard, soft)]
    assert error[2] < error[1] < error[0]


def test_under_mirrors_over():
    rng = np.random.default_rng(5)
    y, p, alpha = rng.normal(size=50), rng.random(50), rng.uniform(0, 3, 50)
    over = calibrate(y, p, alpha, 0.2, 0.1)
    under = calibrate(-y, p, alpha, 0.2, 0.1, direction="under")
    np.testing.assert_allclose(under.y_cal, -over.y_cal, atol=1e-12)
    np.testing.assert_allclose(under.low, -over.high, atol=1e-10)
    np.testing.assert_allclose(under.high, -over.low, atol=1e-10)


def test_a_number_means_the_same_number_for_every_row_and_chunks_change_nothing(monkeypatch):
    rng = np.random.default_rng(6)
    y, p = rng.normal(size=300), rng.random(300)
    one = calibrate(y, p, 2.0, 0.3, 0.1)
    monkeypatch.setattr(module, "CHUNK", 17)
    many = calibrate(y, p, np.full(300, 2.0), np.full(300, 0.3), np.full(300, 0.1))
    for name in ("y_cal", "low", "high", "shift"):
        np.testing.assert_array_equal(getattr(one, name), getattr(many, name))


@pytest.mark.parametrize(
    ("arguments", "error", "named"),
    [
        ({"alpha": np.nan}, SettingsError, "alpha is not finite"),
        ({"se_alpha": -1.0}, SettingsError, "0 or more"),
        ({"p_biased": np.array([0.5, 1.5])}, TableError, "between 0 and 1"),
        ({"y_obs": np.array([np.nan, 0.0])}, TableError, "finite outcome"),
        ({"alpha": np.ones(3)}, TableError, "alpha has shape"),
        ({"direction": "up"}, SettingsError, "'over' or 'under'"),
        ({"level": 95}, SettingsError, "between 0 and 1"),
    ],
)
def test_bad_input(arguments, error, named):
    with pytest.raises(error, match=named):
        calibrate(**({"y_obs": np.zeros(2), "p_biased": np.full(2, 0.5), "alpha": 1.0} | arguments))
