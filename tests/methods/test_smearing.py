"""From mean logarithms to means: a closed form, a brute force, and zeros."""

from __future__ import annotations

import numpy as np
import pytest

from proxycal.methods.smearing import Smearing, fit_smearing, hats


def rows(n=400, seed=0, sd=0.5):
    rng = np.random.default_rng(seed)
    value = np.exp(1.5 * rng.normal(size=n))
    return value, value * np.exp(sd * rng.normal(size=n))


def test_the_mean_of_lognormal_errors_is_the_closed_form():
    """E exp(N(0, s^2)) = exp(s^2 / 2), and its variance is (exp(s^2) - 1) exp(s^2)."""
    made = fit_smearing(*rows(20_000), np.ones(20_000))
    # 5,000 rows at each knot: ratios are known to 0.01.
    assert made.ratio == pytest.approx(np.full(4, np.exp(0.125)), abs=0.04)
    assert made.spread == pytest.approx(np.full(4, (np.exp(0.25) - 1.0) * np.exp(0.25)), abs=0.06)


def test_a_ratio_that_goes_with_the_size_is_followed():
    value, truth = rows(4000)
    made = fit_smearing(value, truth * value**0.2, np.ones(4000))
    small, large = made.means(np.array([0.3, 3.0])) / np.array([0.3, 3.0])
    assert small == pytest.approx(np.exp(0.125) * 0.3**0.2, rel=0.1)
    assert large == pytest.approx(np.exp(0.125) * 3.0**0.2, rel=0.1)


def test_the_error_of_a_total_is_that_of_repeated_audits():
    value, truth = rows(3000, seed=1)
    totals, ses = [], []
    for seed in range(200):
        chosen = np.random.default_rng(seed).choice(3000, 150, replace=False)
        made = fit_smearing(value[chosen], truth[chosen], np.ones(150))
        own = made.row_truth(value)
        slope = own.slope.sum(axis=0)
        totals.append(own.mean.sum())
        ses.append(np.sqrt(slope @ made.cov @ slope))
    # 200 draws know a standard deviation to 5%.
    assert np.median(ses) == pytest.approx(np.std(totals), rel=0.2)
    # The largest answers decide a total in dollars, and their own errors stay in it.
    assert np.mean(totals) == pytest.approx((value * np.exp(0.125)).sum(), rel=0.03)


def test_zeros_have_the_mean_truth_of_zeros_in_totals_only():
    value, truth = rows(200)
    value = np.append(value, np.zeros(40))
    truth = np.append(truth, np.repeat([0.0, 8.0], [30, 10]))
    made = fit_smearing(value, truth, np.ones(240))
    assert made.means(np.zeros(1)) == [0.0]
    own = made.row_truth(np.zeros(3))
    assert own.mean == pytest.approx(np.full(3, 2.0))
    assert own.slope[:, -1].tolist() == [1.0, 1.0, 1.0]
    assert own.variance == pytest.approx(np.full(3, 12.0 * 40 / 39))
    assert made.cov[-1, -1] == pytest.approx(12.0 / 39)


def test_slopes_are_those_of_the_mean():
    value, truth = rows(100)
    made = fit_smearing(value, truth, np.ones(100))
    moved = Smearing(made.knots, made.ratio + 0.1, made.spread, made.cov, made.zero)
    change = made.row_truth(value).slope[:, :-1].sum(axis=1) * 0.1
    assert moved.means(value) - made.means(value) == pytest.approx(change)


def test_hats_add_up_to_one():
    assert hats(np.linspace(-3.0, 3.0, 50), np.array([-1.0, 0.2, 1.0])).sum(axis=1) == pytest.approx(
        np.ones(50)
    )


def test_it_comes_back_from_its_state():
    made = fit_smearing(*rows(), np.ones(400))
    again = Smearing.from_state(made.state())
    assert again.means(np.arange(5.0)).tolist() == made.means(np.arange(5.0)).tolist()
