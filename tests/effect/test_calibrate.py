"""The calibrated outcome against closed forms, an independent root finder and simulated coverage."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

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
    done = calibrate(np.array([1.0, 1.0]), np.array([0.0, 1.0]), 2.0, se_alpha=0.3, level=level)
    np.testing.assert_allclose(done.low, [1.0, -1.0 - z * 0.3], rtol=1e-12)
    np.testing.assert_allclose(done.high, [1.0, -1.0 + z * 0.3], rtol=1e-12)


def test_without_any_error_a_certain_row_is_a_point():
    done = calibrate(np.array([1.0, 1.0]), np.array([0.0, 1.0]), 2.0)
    np.testing.assert_allclose(done.low, [1.0, -1.0], atol=1e-12)
    np.testing.assert_allclose(done.high, [1.0, -1.0], atol=1e-12)


@pytest.mark.parametrize("direction", ["over", "under"])
def test_interval_ends_are_quantiles_of_the_mixture(direction):
    rng = np.random.default_rng(0)
    n, sign = 200, 1 if direction == "over" else -1
    y, p = rng.normal(size=n), rng.choice([0.01, 0.024, 0.03, 0.5, 0.97, 0.99, 0.999], n)
    alpha, se = rng.uniform(-0.5, 3.0, n), rng.uniform(0.05, 2.0, n)
    done = calibrate(y, p, alpha, se, direction)
    for i in range(n):

        def cdf(x, i=i):
            return (1 - p[i]) * (x >= y[i]) + p[i] * norm.cdf(x, y[i] - sign * alpha[i], se[i])

        ends = [brentq(lambda x, q=q: cdf(x) - q, -30, 30, xtol=1e-13) for q in (0.025, 0.975)]
        assert done.low[i] == pytest.approx(min(ends[0], done.y_cal[i]), abs=1e-9)
        assert done.high[i] == pytest.approx(max(ends[1], done.y_cal[i]), abs=1e-9)


def test_an_alpha_known_for_certain_leaves_two_points():
    y, p = np.zeros(5), np.array([0.01, 0.03, 0.5, 0.97, 0.99])
    done = calibrate(y, p, 2.0, se_alpha=0.0)
    np.testing.assert_array_equal(done.low, [-0.02, -2.0, -2.0, -2.0, -2.0])
    np.testing.assert_array_equal(done.high, [0.0, 0.0, 0.0, 0.0, -1.98])


@pytest.mark.parametrize("p", [0.025, np.nextafter(0.025, 1), 0.975, 5e-324, 1 - 2**-53])
@pytest.mark.parametrize("se", [0.0, 5e-324, 1e-8, 1.0, 1e300])
@pytest.mark.filterwarnings("error")
def test_the_edges_of_floating_point_are_numbers(p, se):
    done = calibrate(np.array([1.0]), np.array([p]), 2.0, se)
    assert np.isfinite([done.low[0], done.high[0]]).all()
    assert done.low[0] <= done.y_cal[0] <= done.high[0]


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
        done = calibrate(*args, direction=direction)
        assert (done.low <= done.y_cal).all()
        assert (done.y_cal <= done.high).all()


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("p", [0.5, 0.9, 1.0])
def test_interval_covers_the_truth(level, p):
    # The world that the interval describes: p is right, alpha_hat misses by its standard error. Where both
    # cases are possible one end is the point of the unbiased, and nothing lies beyond it.
    rng = np.random.default_rng(2)
    n, alpha, se = 8000, 2.0, 0.3
    truth = rng.normal(size=n)
    y = truth + alpha * (rng.random(n) < p)
    done = calibrate(y, np.full(n, p), alpha + se * rng.normal(size=n), se, level=level)
    covered = np.mean((done.low <= truth) & (truth <= done.high))
    assert covered == pytest.approx(level if p == 1.0 else (1 + level) / 2, abs=0.01)


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
    over = calibrate(y, p, alpha, 0.2)
    under = calibrate(-y, p, alpha, 0.2, direction="under")
    np.testing.assert_array_equal(under.y_cal, -over.y_cal)
    np.testing.assert_array_equal(under.low, -over.high)
    np.testing.assert_array_equal(under.high, -over.low)


def test_a_number_means_the_same_number_for_every_row():
    rng = np.random.default_rng(6)
    y, p = rng.normal(size=300), rng.random(300)
    one = calibrate(y, p, 2.0, 0.3)
    many = calibrate(y, p, np.full(300, 2.0), np.full(300, 0.3))
    for name in ("y_cal", "low", "high", "shift"):
        np.testing.assert_allclose(getattr(one, name), getattr(many, name), rtol=1e-12, atol=1e-12)


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
