from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from proxycal.datasets.environment import LOW_VARIANCE, independent, is_flat


@pytest.mark.parametrize(("others", "flat"), [(0, True), (4, True), (6, False), (500, False)])
def test_a_column_in_which_nearly_all_rows_agree_is_flat(others, flat):
    assert round(1000 * LOW_VARIANCE) == 5
    assert is_flat(pd.Series(np.where(np.arange(1000) < others, np.arange(1000.0) + 1.0, 0.0))) is flat


def test_a_column_that_those_before_it_give_is_a_twin():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    table["sum"] = 2.0 * table["a"] - table["b"] + 5.0
    table["near"] = table["a"] + 0.01 * rng.normal(size=200)
    table["apart"] = table["a"] + 0.2 * rng.normal(size=200)
    assert independent(table, list(table)) == (["a", "b", "apart"], ["sum", "near"])
    # Who comes first stays.
    assert independent(table, ["sum", "a", "b"]) == (["sum", "a"], ["b"])
    assert independent(table, []) == ([], [])
