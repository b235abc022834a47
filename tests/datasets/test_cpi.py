"""Constant dollars against figures that the Bureau of Labor Statistics publishes."""

from __future__ import annotations

import numpy as np
import pytest

from proxycal.datasets.cpi import cpi, price_ratio
from proxycal.errors import SettingsError


def test_the_table_is_whole_and_prices_fell_only_in_1955_and_2009():
    index = cpi()
    assert index.index.tolist() == list(range(1950, 2025))
    falling = index.index[1:][np.diff(index.to_numpy()) < 0]
    assert falling.tolist() == [1955, 2009]


@pytest.mark.parametrize(("year", "percent"), [(1980, 13.5), (2009, -0.4), (2022, 8.0), (2023, 4.1)])
def test_annual_inflation_is_what_the_bureau_says(year, percent):
    assert round(100 * (cpi()[year] / cpi()[year - 1] - 1), 1) == percent


def test_dollars_go_there_and_back():
    there = price_ratio([1999], 2023) * price_ratio([2023], 1999)
    np.testing.assert_allclose(there, 1.0)


def test_a_year_without_an_index_is_named():
    with pytest.raises(SettingsError, match="1949"):
        price_ratio([1949, 2000], 2023)
    with pytest.raises(SettingsError, match="2031"):
        price_ratio([2000], 2031)
