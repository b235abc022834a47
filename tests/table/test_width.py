"""The forecast of a fit with many columns."""

from __future__ import annotations

import pytest

from proxycal.table.width import COLUMNS, ROWS, SECONDS, costly, wide_seconds


def test_the_forecast_is_what_was_measured():
    assert wide_seconds(ROWS, COLUMNS) == SECONDS
    assert wide_seconds(2 * ROWS, COLUMNS // 2) == pytest.approx(SECONDS / 2)


def test_ordinary_tables_are_told_nothing():
    assert costly(2000, 100) == []
    assert costly(1_000_000, 20) == []


def test_wide_tables_are_told_the_time_before_a_fit():
    (trouble,) = costly(2000, 200)
    assert "20 seconds" in trouble.reading
    assert not trouble.must_fix
    (trouble,) = costly(20_000, 400)
    assert "14 minutes" in trouble.reading
    assert "4 minutes" in trouble.reading
