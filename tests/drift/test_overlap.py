"""How far other rows lie, and their reports: laws whose distance is known."""

from __future__ import annotations

import numpy as np
import pytest

from proxycal.drift.overlap import Sample, overlap, report_shift


def sample(n, seed, by=0.0, moved=0.0, slope=0.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    x[:, 0] += by
    y = x @ [1.0, -0.5] + moved + slope * x[:, 1] + rng.normal(size=n)
    return Sample(x, y, np.ones(n))


OLD = sample(2000, 1)


def test_rows_of_the_same_law_are_all_alike():
    lap = overlap(OLD, sample(800, 2))
    assert lap.rows > 1900
    assert lap.outside.mean() < 0.005
    assert overlap(OLD, sample(5, 3)).rows > 1000  # five rows say little of where they come from


@pytest.mark.parametrize("by", [0.5, 1.0])
def test_a_shift_leaves_fewer_rows_alike(by):
    # Of normal columns, sum w^2 / n is exp(by^2).
    lap = overlap(OLD, sample(2000, 4, by))
    assert lap.rows == pytest.approx(2000 * np.exp(-(by**2)), rel=0.2)
    assert np.average(OLD.x[:, 0], weights=lap.ratio) == pytest.approx(by, abs=0.1)


def test_rows_that_no_fitted_row_is_near():
    new = sample(100, 5)
    new.x[:7, 1] = 9.0
    lap = overlap(OLD, new)
    assert lap.outside[:7].all()
    assert (lap.column[:7] == 1).all()
    assert lap.outside[7:].sum() <= 1
    # A hole in the middle is outside, too: every column is within the fitted ones.
    ring = Sample(OLD.x / np.linalg.norm(OLD.x, axis=1)[:, None], OLD.y, OLD.weights)
    hole = overlap(ring, Sample(np.zeros((3, 2)), np.zeros(3), np.ones(3)))
    assert hole.outside.all()
    assert (hole.column == -1).all()


def test_reports_that_moved_are_seen_where_they_moved():
    new = sample(1500, 6, by=0.5, moved=0.4, slope=0.3)
    lap = overlap(OLD, new)
    moved = report_shift(OLD, new, lap.ratio)
    assert abs(moved.mean - 0.4) < 3.0 * moved.mean_se
    assert np.corrcoef(moved.at, new.x[:, 1])[0, 1] > 0.9
    assert np.mean(np.abs(moved.at - 0.4 - 0.3 * new.x[:, 1]) < 2.0 * moved.se) > 0.9
    same = report_shift(OLD, sample(1500, 7, by=0.5), lap.ratio)
    assert abs(same.mean) < 3.0 * same.mean_se


def test_few_rows_have_the_error_of_few():
    ses = [report_shift(OLD, sample(n, 8), np.ones(2000)).mean_se for n in (1, 25)]
    assert ses == pytest.approx([1.0, 0.2], rel=0.3)  # sd of what is left over the root of the rows
