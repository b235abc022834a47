"""All columns and the report of new rows; rows that were fitted say nothing."""

from __future__ import annotations

import pandas as pd

from month_tables import rows, values
from proxycal.drift.compare import REPORT, compare

FITTED = rows(1000, seed=1)
KNOWN = values(FITTED)


def drift(table, fitted=1000):
    return compare(KNOWN, values(table, FITTED), fitted)


def test_a_row_for_each_column_and_one_for_the_report():
    found = drift(rows(300, seed=2))
    assert sorted(row.column for row in found.rows) == sorted([*FITTED.columns, REPORT])
    assert {row.what for row in found.rows} == {"as fitted"}
    assert (found.compared, found.known, found.units) == (300, 0, ())


def test_what_moved_is_named_with_its_size():
    table = rows(300, seed=3, mix=(0.1, 0.3, 0.6))
    table["income"] *= 1.2
    found = {row.column: row for row in drift(table).rows}
    assert found["income"].what == "drift"
    # 1.2 times a median of 49,000 with an sd of a quarter of it.
    assert 0.5 < found["income"].shift < 1.1
    assert found["region"].what == "drift"
    assert "'north'" in found["region"].detail or "'west'" in found["region"].detail
    assert found["slope"].what == "as fitted"


def test_rows_of_the_fit_are_not_compared():
    assert drift(FITTED.nlargest(50, "loss")).compared == 0
    both = pd.concat([FITTED, rows(40, seed=4)], ignore_index=True)
    found = drift(both)
    assert (found.compared, found.known) == (40, 1000)
    # Of a million fitted rows a thousand were kept, and as many of the new ones are among them as expected.
    part = pd.concat([FITTED.head(30), rows(29_970, seed=5)], ignore_index=True)
    assert drift(part, fitted=1_000_000).compared == 0


def test_a_changed_bias_asks_for_another_fit():
    found = drift(rows(500, seed=6, ratio=0.3))
    assert found.refit is not None
    assert found.refit.column == REPORT


def test_no_rows_are_as_fitted():
    assert drift(FITTED.head(1)).drifted == ()
