from __future__ import annotations

import pandas as pd
import pytest

from proxycal.datasets import load_nhanes
from proxycal.studies.nhanes_tables import anatomy, paired, spread, tally


def test_pairs_go_by_draw_and_spread_says_sd():
    rows = [
        {"method": method, "metric": "rmse", "group": "all", "seed": seed, "value": size}
        for method, sizes in (("a", (1.0, 2.0)), ("b", (3.0, 1.0)))
        for seed, size in enumerate(sizes)
    ]
    difference = paired(pd.DataFrame(rows[::-1]), "a", "b")
    assert difference.sort_index().tolist() == [-2.0, 1.0]
    assert spread(difference) == "-0.50±2.12"
    assert tally(pd.Series([-1.0, 0.0, 0.0, 2.0])) == (1, 2, 1)
    assert spread(difference.iloc[:1]) in ("1.00", "-2.00")
    assert spread(difference.iloc[:0]) == "-"


def test_the_anatomy_of_the_error_is_that_of_the_table():
    table = load_nhanes("height").table
    gap = table["height_selfreport_cm"] - table["height_cm"]
    column = anatomy("height")
    assert column[0] == str(len(gap))
    assert float(column[1]) == pytest.approx(gap.mean(), abs=0.005)
    assert float(column[-1]) < float(column[2])
