from __future__ import annotations

import numpy as np
import pandas as pd

from proxycal.table.wording import columns_named, listed, rows_of, shown


def test_values_stay_on_one_short_line() -> None:
    text = shown("<script>\n" + "x" * 1000)
    assert "\n" not in text
    assert len(text) <= 60
    assert text.endswith("...'")


def test_rows_are_positions_with_labels_only_where_those_differ() -> None:
    mask = np.array([False, True, True, True, True])
    assert rows_of(mask, pd.RangeIndex(5)) == "first at index 1, 2, 3"
    assert rows_of(mask, pd.Index([10, 20, 30, 40, 50])) == "first at index 20, 30, 40"
    several = pd.MultiIndex.from_product([["a"], [1, 2, 3, 4, 5]])
    assert rows_of(mask, several) == "first at index ('a', 2), ('a', 3), ('a', 4)"
    days = pd.date_range("2020-01-01", periods=5)
    assert "2020-01-02" in rows_of(mask, days)


def test_lists_say_how_many_more() -> None:
    assert listed(range(3)) == "0, 1, 2"
    assert listed(range(10)) == "0, 1, 2 and 7 more"
    assert columns_named([str(i) for i in range(7)]).endswith("'4' and 2 more")
