"""Other units are found in any column, by any factor, in few rows and many; chosen rows are not refused."""

from __future__ import annotations

import numpy as np
import pytest

from month_tables import rows, values
from proxycal.drift.units import reference, unit_changes

FITTED = rows(1200, seed=1)
KNOWN = reference(values(FITTED))


def changes(table):
    return unit_changes(KNOWN, values(table, FITTED))


@pytest.mark.parametrize("m", [60, 400])
@pytest.mark.parametrize(
    ("column", "factor"),
    [
        ("loss", 1e-3), ("loss", 100.0), ("area", 10.0), ("wind", 10.0), ("wind", 2.20462), ("index", 0.1),
        ("index", 10.0), ("income", 1e-3), ("income", 12.0), ("share", 100.0), ("slope", 10.0),
    ],
)  # fmt: skip
def test_a_column_and_its_factor_are_named(column, factor, m):
    table = rows(m, seed=2)
    table[column] *= factor
    found = changes(table)
    assert [change.column for change in found] == [column]
    # Known to the error that it states: four of them.
    assert abs(np.log(found[0].factor / factor)) < 4.0 * found[0].doubt


def test_two_columns_at_once():
    table = rows(300, seed=3).assign(area=lambda t: 10.0 * t["area"], loss=lambda t: t["loss"] / 1000.0)
    assert {change.column for change in changes(table)} == {"area", "loss"}


def test_five_rows_and_one_far_beyond():
    table = rows(5, seed=4)
    table["loss"] /= 1000.0
    assert [change.column for change in changes(table)] == ["loss"]
    one = rows(1, seed=5)
    one["income"] *= 1000.0
    assert [change.column for change in changes(one)] == ["income"]


@pytest.mark.parametrize("column", ["loss", "area", "wind", "index", "income", "share", "slope"])
@pytest.mark.parametrize("end", ["largest", "smallest", "middle"])
def test_rows_chosen_by_a_column_are_not_refused(column, end):
    table = rows(6000, seed=6)
    middle = (table[column] - table[column].median()).abs()
    order = {"largest": -table[column], "smallest": table[column], "middle": middle}[end]
    for m in (5, 60, 600):
        assert changes(table.loc[order.nsmallest(m).index]) == ()


def test_rows_of_one_region_are_not_refused_nor_is_growth():
    table = rows(1500, seed=7)
    for name in ("north", "south", "west"):
        assert changes(table[table["region"] == name]) == ()
    assert changes(table.assign(loss=1.08 * table["loss"], income=1.05 * table["income"])) == ()


def test_one_region_in_thousands_is_found():
    table = rows(900, seed=8)
    south = table[table["region"] == "south"].copy()
    south["loss"] /= 1000.0
    assert [change.column for change in changes(south)] == ["loss"]


def test_zero_is_zero_in_every_unit():
    table = rows(200, seed=9)
    table.loc[:149, "loss"] = 0.0
    assert changes(table) == ()
    table["loss"] *= 1000.0
    assert [change.column for change in changes(table)] == ["loss"]
