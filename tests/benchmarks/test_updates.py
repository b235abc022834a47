"""Changed rows are changed, and the page counts fits, tables and flags apart."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks import updates


def test_changed_rows_differ_in_size_or_in_odds_only():
    same, larger, more = (updates.draw(4000, 5, *change) for change in ((1.0, 0.0), (1.5, 0.0), (1.0, 1.1)))
    for table in (larger, more):
        pd.testing.assert_frame_equal(table.drop(columns="y"), same.drop(columns="y"))
    assert set(np.round(larger["y"] - same["y"], 9)) == {0.0, 0.5}
    assert set(np.round(more["y"] - same["y"], 9)) == {0.0, 1.0}


def test_the_page_counts_each_table_once():
    row = {"world": "added", "n": 1000, "zeros": 0.0, "verdict": "bias found", "error": None, "off": 0.001}
    for name in ("size x 1.5", "odds x 3", "as before"):
        row |= {f"{name}|bias": 1, f"{name}|flagged": 1, f"{name}|size": 1.5}
    changed, same, answer = updates.page(pd.DataFrame([row, row | {"as before|flagged": 0}])).parts
    assert [line["flagged"] for line in changed.rows] == ["100.0%", "100.0%"]
    assert [line["flagged"] for line in same.rows] == ["10.0%", "10.0%"]  # one of two fits, five tables each
    assert same.rows[1]["world"] == "all"
    assert answer.rows[0]["reached"] == "yes"
