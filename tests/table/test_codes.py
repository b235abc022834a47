from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from proxycal.errors import StoreError, TableError
from proxycal.table.codes import TOGETHER, CategoryCode, NumberCode, code_from_dict, fit_code, fit_codes
from proxycal.table.columns import read_column

ALL = np.ones(4, dtype=bool)
INDEX = pd.RangeIndex(4)


def test_number_code_by_hand() -> None:
    column = read_column(pd.Series([1.0, 3.0, np.nan, 8.0]), "x")
    code = NumberCode.fit(column, np.ones(4), impute=True)
    assert code.exponent == 4
    assert code.suffixes == ("", "=missing")
    values = np.array([1, 3, 8])
    filled = np.array([1, 3, 3, 8])
    expected = (filled - values.mean()) / values.std()
    out = code.apply(column, INDEX, ALL)
    np.testing.assert_allclose(out[:, 0], expected, rtol=1e-14)
    np.testing.assert_array_equal(out[:, 1], [0, 0, 1, 0])


def test_a_constant_with_gaps_leaves_only_the_mark() -> None:
    column = read_column(pd.Series([2.0, 2.0, np.nan, 2.0]), "x")
    code = NumberCode.fit(column, np.ones(4), impute=True)
    assert code.suffixes == ("=missing",)
    np.testing.assert_array_equal(code.apply(column, INDEX, ALL), [[0], [0], [1], [0]])


def test_values_out_of_all_proportion_are_refused_with_their_rows() -> None:
    code = NumberCode.fit(read_column(pd.Series([1e-300, 2e-300]), "x"), np.ones(2), impute=False)
    with pytest.raises(TableError, match=r"'x' holds 1 value .*at index 2 \(1e\+300\): check the units"):
        code.apply(read_column(pd.Series([1e-300, 0.0, 1e300, 0.0]), "x"), INDEX, ALL)


def test_text_where_numbers_were_is_refused_and_true_counts_as_one() -> None:
    code = NumberCode.fit(read_column(pd.Series([0.0, 1.0]), "x"), np.ones(2), impute=False)
    with pytest.raises(TableError, match=r"'x' holds text values .* numeric when the model was fitted"):
        code.apply(read_column(pd.Series(["a", "b", "c", "d"]), "x"), INDEX, ALL)
    out = code.apply(read_column(pd.Series([True, False, True, False]), "x"), INDEX, ALL)
    np.testing.assert_array_equal(out[:, 0], [1, -1, 1, -1])


def test_category_code_by_hand() -> None:
    column = read_column(pd.Series(["c", "a", None, "missing"]), "x")
    code = CategoryCode.fit(column)
    assert code.level_names == ("a", "c", "missing", "missing value")
    assert code.suffixes == ("=c", "=missing", "=missing value")
    expected = [[1, 0, 0], [0, 0, 0], [0, 0, 1], [0, 1, 0]]
    np.testing.assert_array_equal(code.apply(column, INDEX, ALL), expected)
    np.testing.assert_array_equal(code.positions(column, INDEX, ALL), [1, 0, 3, 2])


def test_unseen_levels_are_named_with_values_rows_and_remedy() -> None:
    code = CategoryCode.fit(read_column(pd.Series(["a", "b"]), "hazard"))
    new = read_column(pd.Series(["a", "zzz", "b", "yyy"]), "hazard")
    with pytest.raises(TableError) as caught:
        code.positions(new, pd.Index(["w", "x", "y", "z"]), ALL)
    text = str(caught.value)
    for word in ["'hazard'", "2 levels", "'yyy', 'zzz'", "index 'x', 'z'", "'a', 'b'", "fit again"]:
        assert word in text
    code.positions(new, INDEX, np.array([True, False, True, False]))


def test_a_gap_never_seen_is_an_unseen_level() -> None:
    code = CategoryCode.fit(read_column(pd.Series(["a", "b"]), "x"))
    with pytest.raises(TableError, match=r"'\(missing\)'"):
        code.positions(read_column(pd.Series(["a", None, "b", "a"]), "x"), INDEX, ALL)


NUMBER = {
    "kind": "number",
    "name": "x",
    "exponent": 1,
    "centre": 0.5,
    "spread": 1.0,
    "fill": None,
    "indicator": False,
}
CATEGORY = {"kind": "category", "name": "x", "levels": ["a", "b"], "gap": False}


@pytest.mark.parametrize(
    "state",
    [
        {**NUMBER, "spread": float("nan")},
        {**NUMBER, "spread": -1.0},
        {**NUMBER, "centre": "0"},
        {**NUMBER, "exponent": 1.5},
        {**NUMBER, "exponent": 10**9},
        {**NUMBER, "fill": float("inf")},
        {**NUMBER, "indicator": 1},
        {**NUMBER, "kind": "other"},
        {**NUMBER, "name": 3},
        {**NUMBER, "extra": 1},
        {**CATEGORY, "levels": ["a", "a"]},
        {**CATEGORY, "levels": []},
        {**CATEGORY, "levels": [1, 2]},
        {**CATEGORY, "gap": "no"},
        {"kind": "category", "name": "x"},
        {},
        None,
        "number",
    ],
)
def test_a_damaged_state_is_refused(state: Any) -> None:
    with pytest.raises(StoreError, match="save"):
        code_from_dict(state)


def test_a_sound_state_is_accepted() -> None:
    assert code_from_dict(NUMBER).to_dict() == NUMBER
    assert code_from_dict(CATEGORY).to_dict() == CATEGORY


@pytest.mark.parametrize("impute", [False, True])
def test_columns_together_have_the_codes_of_columns_one_by_one(impute: bool) -> None:
    rng = np.random.default_rng(0)
    n = TOGETHER // 5
    holed = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n))
    values: dict[str, Any] = {f"x{k}": 10.0**k * rng.normal(k, 1.0, size=n) for k in range(-9, 9)}
    values |= {
        "huge": rng.normal(size=n) * 1e299, "tiny": rng.normal(size=n) * 1e-299, "still": np.full(n, 3.0),
        "rounding": 0.3 + rng.choice([0.0, 1e-17], size=n), "nothing": np.zeros(n), "holed": holed,
        "text": rng.choice(["a", "b"], size=n), "size": rng.exponential(size=n), "n": rng.integers(0, 9, n),
    }  # fmt: skip
    columns = [read_column(pd.Series(column), name) for name, column in values.items()]
    weights = rng.uniform(0.5, 2.0, size=n)
    together = fit_codes(columns, weights, impute, {"size"})
    assert list(together) == list(values)
    for column in columns:
        assert together[column.name] == fit_code(column, weights, impute, column.name == "size")
    assert fit_codes([], weights, impute) == {}
