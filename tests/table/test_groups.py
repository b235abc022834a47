"""Groups and weights of totals: what they may be, and what is refused by name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from proxycal.errors import TableError
from proxycal.table.groups import read_groups, read_weights


def test_groups_are_codes_of_the_values():
    codes, labels = read_groups(pd.DataFrame({"year": [2020.0, 2021.0, 2020.0]}), "year")
    assert (codes.tolist(), labels) == ([0, 1, 0], [2020, 2021])
    codes, labels = read_groups(pd.DataFrame({"year": [1, 2]}), None)
    assert (codes.tolist(), labels) == ([0, 0], [None])


def test_a_row_without_a_group_is_refused():
    with pytest.raises(TableError, match=r"column 'region' .* holds 1 missing value, at index 1"):
        read_groups(pd.DataFrame({"region": ["a", None]}), "region")


def test_weights_are_as_given_and_may_be_zero():
    assert read_weights(pd.DataFrame({"w": [0.0, 2.5]}), "w").tolist() == [0.0, 2.5]
    assert read_weights(pd.DataFrame({"w": [0.0, 2.5]}), None).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0, -2.0], "1 negative value, at index 1"),
        ([1.0, np.nan], "missing or infinite"),
        (["a", "b"], "text"),
    ],
)
def test_other_weights_are_refused(values, words):
    with pytest.raises(TableError, match=words):
        read_weights(pd.DataFrame({"w": values}), "w")
