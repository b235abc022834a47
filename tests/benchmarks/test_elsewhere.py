"""Groups of NHANES are kept apart, and a warning counts where an interval misses."""

from __future__ import annotations

import pandas as pd
import pytest

from benchmarks import elsewhere
from proxycal.datasets import load_nhanes


@pytest.mark.parametrize("move", elsewhere.MOVES[:4], ids=" ".join)
def test_nobody_is_in_both_groups(move):
    data = load_nhanes("weight", validated=0.3)
    own, other, roles = elsewhere.groups(data, move, seed=1)
    assert not set(own["seqn"]) & set(other["seqn"])
    assert own["validated"].notna().sum() >= 30
    assert roles.truth == "validated"
    if move[0] != "half":
        assert set(own[move[0]]) == {move[1]}
        assert set(other[move[0]]) == {move[2]}


def test_the_page_holds_coefficients_and_moves():
    regression = {"asked": "regression", "error": None, "off|age": -1.6, "longer|age": 1.1}
    move = {
        "asked": "elsewhere", "error": None, "move": "a -> b", "fitted": 100, "refused": "", "warned": False,
        "alike": 50.0, "outside": 0, "shift": 1.0, "plain_coverage": 0.8, "plain_width": 2.0,
        "wide_coverage": 0.9, "wide_width": 3.0,
    }  # fmt: skip
    rows = [regression, move, move | {"move": "a -> c", "warned": True}]
    first, second = elsewhere.page(pd.DataFrame(rows)).parts
    assert first.rows[0]["reached"] == "**no**"
    assert [row["reached"] for row in second.rows] == ["**no**", "yes"]
