"""Text that reads like numbers is told from categories."""

from __future__ import annotations

import pandas as pd
import pytest

from proxycal.table.columns import read_column
from proxycal.table.number_text import MOST_NUMBER_CODES, number_codes, number_text, two_readings
from proxycal.table.surface import speaking


@pytest.mark.parametrize(
    ("values", "meant"),
    [
        (["1,200", "40%", "n/a"], True),
        (["1", "2", "a", "b", "c"], False),
        (["flood", "wind"], False),
        ([1.0, 2.0], False),
    ],
)
def test_text_most_of_which_reads_like_numbers_was_meant_as_numbers(values, meant):
    assert number_text(read_column(pd.Series(values), "x")) == meant


def test_few_digits_may_be_codes_and_many_are_numbers():
    few, many = (pd.Series([str(i) for i in range(n)]) for n in (MOST_NUMBER_CODES, MOST_NUMBER_CODES + 1))
    assert not number_codes(read_column(few, "x"))
    assert number_codes(read_column(many, "x"))


def test_two_readings_are_named_where_there_is_a_file():
    column = read_column(pd.Series(["50,015", "7,200"]), "x")
    assert two_readings(column) == ""
    with speaking("shell"):
        assert two_readings(column).startswith("'50,015' may be 50015 or 50.015")
        assert two_readings(read_column(pd.Series(["50,015", "7,2"]), "x")) == ""
