"""Totals under an assumption hold what they say: against tables made to that assumption."""

from __future__ import annotations

import numpy as np
import pytest

from proxycal.effect.band import Assumed, band


def table(way, n=600, seed=0):
    """Groups of 200 rows in which 30% report 70% (or 140%) of a truth of any size."""
    rng = np.random.default_rng(seed)
    true = np.exp(rng.normal(size=n))
    biased = np.zeros(n, dtype=bool)
    codes = np.repeat(np.arange(3), n // 3)
    for group in range(3):
        biased[rng.choice(np.flatnonzero(codes == group), 60, replace=False)] = True
    return true, true * np.where(biased, 0.7 if way == "under" else 1.4, 1.0), codes


@pytest.mark.parametrize(("way", "part"), [("under", (0.6, 0.9)), ("over", (1.2, 1.6))])
def test_the_truth_lies_in_a_band_that_is_right(way, part):
    true, y, codes = table(way)
    sign = -1.0 if way == "under" else 1.0
    made = band(y, np.ones(600), codes, 3, Assumed((0.2, 0.4), reports=part), sign, np.full(600, np.nan))
    sums = np.append(np.bincount(codes, weights=true), true.sum())
    assert (made.low < sums).all()
    assert (sums < made.high).all()
    assert (made.lowest <= made.low).all()
    assert (made.high <= made.highest).all()
    assert made.low[-1] == pytest.approx(made.low[:-1].sum())


def test_an_amount_is_taken_off_or_added_for_each_biased_row():
    y, none = np.array([5.0, 7.0, 1.0]), np.full(3, np.nan)
    codes, weights = np.array([0, 0, 1]), np.array([1.0, 2.0, 1.0])
    made = band(y, weights, codes, 2, Assumed((0.5, 1.0), amount=(2.0, 2.0)), 1.0, none)
    np.testing.assert_allclose(made.low, [19.0 - 6.0, 1.0 - 2.0, 20.0 - 8.0])
    np.testing.assert_allclose(made.high, [19.0 - 3.0, 1.0 - 1.0, 20.0 - 4.0])
    assert made.rows.tolist() == [2, 1, 3]


def test_a_known_truth_stands_and_nothing_is_assumed_of_it():
    known = np.array([8.0, np.nan])
    made = band(
        np.array([6.0, 6.0]),
        np.ones(2),
        np.zeros(2, int),
        1,
        Assumed((1.0, 1.0), reports=(0.5, 0.5)),
        -1.0,
        known,
    )
    assert made.low[0] == made.high[0] == made.highest[0] == 8.0 + 12.0
    assert made.reported[0] == 12.0


def test_which_rows_they_are_matters_as_far_as_it_can():
    y = np.array([1.0, 2.0, 3.0, 10.0])
    made = band(
        y, np.ones(4), np.zeros(4, int), 1, Assumed((0.5, 0.5), reports=(0.5, 0.5)), -1.0, np.full(4, np.nan)
    )
    assert made.lowest[0] == 16.0 + 3.0
    assert made.highest[0] == 16.0 + 13.0
