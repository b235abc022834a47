"""Which rows and columns of a table are compared with a fit."""

from __future__ import annotations

import numpy as np
import pytest

import proxycal
from month_tables import ROLES, rows
from proxycal.drift.run import MOST_ROWS, chosen, columns_compared, compare_fit
from proxycal.errors import UnitsError


@pytest.fixture(scope="module")
def fit():
    table = rows(500, seed=1).assign(county=np.arange(500) // 5, weight=2.0)
    roles = proxycal.Roles(
        ROLES.outcome, ROLES.proxies, ROLES.environment, cluster="county", weights="weight"
    )
    return proxycal.ProxyCalibrator(roles, direction="under", method="moments").fit(table).result_


def test_columns_that_are_compared(fit):
    have = [*rows(1).columns, "county", "weight", "note"]
    assert set(columns_compared(fit, have)) == {*rows(1).columns, "county"}


def test_rows_of_a_long_table_are_drawn_once():
    at = chosen(3 * MOST_ROWS)
    assert len(set(at.tolist())) == MOST_ROWS
    assert np.array_equal(at, chosen(3 * MOST_ROWS))
    assert at[0] < 100 < 3 * MOST_ROWS - 100 < at[-1]


def test_units_are_refused_only_where_asked(fit):
    new = rows(200, seed=2).assign(county=np.arange(200) // 5)
    new["area"] *= 100.0
    assert [unit.column for unit in compare_fit(fit, {"": new}, refuse=False).units] == ["area"]
    with pytest.raises(UnitsError, match="'area'"):
        compare_fit(fit, {"": new}, refuse=True)
