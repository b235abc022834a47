from __future__ import annotations

import math

import numpy as np
import pytest

from proxycal.table.outcome_type import OutcomeType, grid_step, intervals, outcome_type
from proxycal.testing import wider_world


def normal(n: int = 1000, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=n)


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([1.0, 2.0, 4.0], 1.0),
        ([0.1, 0.2, 0.1 + 0.2, 1.1], 0.1),
        ([10.0, 30.0, 45.0], 5.0),
        ([-4.0, 0.0, 6.0], 2.0),
        ([0.0, 1.0, math.pi], 0.0),
    ],
)
def test_the_step_of_a_grid(values, step):
    assert grid_step(np.array(values)) == pytest.approx(step)


@pytest.mark.parametrize(
    ("name", "kind", "step", "heaps", "ends", "spike"),
    [
        ("one size, 3 sd", "continuous", 0.0, (), (False, False), math.nan),
        ("noise t3", "continuous", 0.0, (), (False, False), math.nan),
        ("100 rows", "continuous", 0.0, (), (False, False), math.nan),
        ("5 points", "rating scale", 1.0, (), (True, True), math.nan),
        ("7 points, no bias", "rating scale", 1.0, (), (True, True), math.nan),
        ("11 points", "rating scale", 1.0, (), (True, True), math.nan),
        ("Poisson", "counts", 1.0, (), (True, False), math.nan),
        ("negative binomial, no bias", "counts", 1.0, (), (True, False), math.nan),
        ("rounded to 1", "rounded", 1.0, (), (False, False), math.nan),
        ("rounded to 5, no bias", "rounded", 5.0, (), (False, False), math.nan),
        ("rounded to 10", "rounded", 10.0, (), (False, False), math.nan),
        ("heaping", "heaped", 1.0, (10.0,), (False, False), math.nan),
        ("y7", "heaped", 1.0, (10.0,), (False, False), math.nan),
        ("top-coding", "continuous", 0.0, (), (False, True), math.nan),
        ("floor", "continuous", 0.0, (), (True, False), math.nan),
        ("zeros", "continuous", 0.0, (), (False, False), 0.0),
        ("zeros shifted too", "continuous", 0.0, (), (False, False), 0.0),
        ("log1p with zeros", "continuous", 0.0, (), (False, False), 0.0),
    ],
)
def test_the_worlds_are_recognised(name, kind, step, heaps, ends, spike):
    for seed in range(3):
        y = wider_world(name).draw(seed).y
        answer = outcome_type(y)
        assert (answer.kind, answer.step, answer.heaps) == (kind, step, heaps)
        assert (math.isfinite(answer.low), math.isfinite(answer.high)) == ends
        assert answer.spike == pytest.approx(spike, nan_ok=True)
        assert answer.share == pytest.approx(np.mean(y == spike))


def test_a_plain_outcome_is_exact():
    y = normal()
    answer = outcome_type(y)
    assert answer.plain
    lo, hi = intervals(y, answer)
    np.testing.assert_array_equal(lo, y)
    np.testing.assert_array_equal(hi, y)


def test_units_and_floating_error_do_not_matter():
    whole = np.round(50 + 8 * normal())
    for scale, shift in ((0.01, 0.0), (1e6, 0.0), (1 / 7.3, -4.21)):
        y = whole * scale + shift
        y += y * 1e-15 * normal(seed=1)
        answer = outcome_type(y)
        assert answer.kind == "rounded"
        assert answer.step == pytest.approx(scale, rel=1e-6)
    assert outcome_type(np.array([0.1, 0.2, 0.1 + 0.2, 0.3] * 30)).step == pytest.approx(0.1)


def test_pounds_in_kilograms_are_a_grid_with_heaps():
    rng = np.random.default_rng(6)
    pounds = np.round(rng.normal(180, 35, 3000))
    pounds = np.where(rng.random(3000) < 0.4, 10 * np.round(pounds / 10), pounds)
    y = np.round(0.45359237 * pounds, 2)
    answer = outcome_type(y)
    assert answer.kind == "heaped"
    assert answer.step == pytest.approx(0.45359, rel=1e-3)
    assert answer.heaps == pytest.approx((4.5359,), rel=1e-3)
    lo, hi = intervals(y, answer)
    np.testing.assert_allclose((hi - lo)[pounds % 10 == 0], 4.5359, rtol=1e-3)
    np.testing.assert_allclose((hi - lo)[pounds % 10 != 0], 0.45359, rtol=1e-3)


def test_heaps_at_two_levels_and_rows_beside_them():
    rng = np.random.default_rng(3)
    amount = rng.normal(500, 150, 4000)
    share = rng.random(4000)
    y = np.select(
        [share < 0.3, share < 0.6],
        [100 * np.round(amount / 100), 10 * np.round(amount / 10)],
        np.round(amount),
    )
    answer = outcome_type(y)
    assert answer.heaps == (10.0, 100.0)
    lo, hi = intervals(np.array([503.0, 510.0, 500.0]), answer)
    assert (hi - lo).tolist() == [1.0, 10.0, 100.0]
    np.testing.assert_allclose((lo + hi) / 2, [503.0, 510.0, 500.0])


def test_heaps_among_exact_values():
    rng = np.random.default_rng(4)
    amount = rng.lognormal(7, 0.5, 1000)
    y = np.where(rng.random(1000) < 0.3, 100 * np.round(amount / 100), amount)
    answer = outcome_type(y)
    assert (answer.kind, answer.step, answer.heaps) == ("heaped", 0.0, (100.0,))
    lo, hi = intervals(y, answer)
    on = y % 100 == 0
    assert (hi[on] - lo[on] == 100.0).all()
    assert (hi[~on] == lo[~on]).all()


def test_whole_amounts_that_tie_by_chance_are_no_heap():
    y = np.round(np.random.default_rng(5).uniform(0, 5000, 1000))
    assert outcome_type(y).plain


def test_ends_are_open_and_the_spike_is_a_value():
    capped = np.minimum(normal(), 1.0)
    answer = outcome_type(capped)
    assert answer.high == 1.0
    lo, hi = intervals(capped, answer)
    assert np.isinf(hi[capped == 1.0]).all()
    assert (lo[capped == 1.0] == 1.0).all()
    assert np.isfinite(lo).all()

    spiked = np.where(np.random.default_rng(1).random(1000) < 0.2, 0.0, np.round(50 + 8 * normal()))
    answer = outcome_type(spiked)
    assert (answer.kind, answer.spike) == ("rounded", 0.0)
    lo, hi = intervals(spiked, answer)
    assert (lo[spiked == 0.0] == hi[spiked == 0.0]).all()
    assert (hi[spiked > 0.0] - lo[spiked > 0.0] == 1.0).all()


def test_counts_with_more_zeros_than_a_count_has():
    rng = np.random.default_rng(2)
    y = np.where(rng.random(1000) < 0.4, 0, rng.poisson(6, 1000)).astype(float)
    answer = outcome_type(y)
    assert (answer.kind, answer.spike, answer.low) == ("counts", 0.0, 0.0)
    lo, hi = intervals(np.array([0.0, 1.0]), answer)
    assert (lo.tolist(), hi.tolist()) == ([0.0, 0.5], [0.0, 1.5])
    assert answer.share == pytest.approx(np.mean(y == 0.0))


def test_a_scale_of_few_values_ends_where_its_mass_does():
    y = np.array([0.0, 25.0, 50.0, 75.0, 100.0])[np.random.default_rng(0).integers(0, 5, 300)]
    assert outcome_type(y) == OutcomeType("rounded", 25.0, (), 0.0, 100.0)


@pytest.mark.parametrize("y", [[], [3.0], [3.0] * 50, [np.nan] * 5, [np.nan, 1.0, np.inf]])
def test_hardly_any_values_have_no_type(y):
    assert outcome_type(np.array(y, dtype=float)) == OutcomeType()


def test_missing_values_stay_missing():
    y = np.array([1.0, 2.0, 3.0, np.nan] * 30)
    lo, hi = intervals(y, outcome_type(y))
    np.testing.assert_array_equal(np.isnan(lo), np.isnan(y))
    np.testing.assert_array_equal(np.isnan(hi), np.isnan(y))


@pytest.mark.parametrize("name", ["5 points", "rounded to 10", "heaping", "top-coding", "floor"])
def test_the_interval_holds_the_value_that_was_written_down(name):
    """Without a bias the underlying value is drawn beside: rounding it must lead back into the interval."""
    y = wider_world(f"{name}, no bias").draw(0).y
    lo, hi = intervals(y, outcome_type(y))
    assert ((lo <= y) & (y <= hi)).all()
    if name in ("5 points", "rounded to 10"):
        inner = np.isfinite(lo) & np.isfinite(hi)
        assert set((hi - lo)[inner]) == {1.0 if name == "5 points" else 10.0}
