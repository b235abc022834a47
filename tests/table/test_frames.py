from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from proxycal.errors import TableError
from proxycal.table.frames import answer, column_names, to_pandas

ANSWER = {"y_cal": np.array([1.0, 2.0, 3.0]), "ids": np.array(["a", "b", None], dtype=object)}


def test_pandas_keeps_its_index_and_only_the_named_columns() -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]}, index=["x", "y"])
    out = to_pandas(frame, ["b"])
    assert list(out.columns) == ["b"]
    assert list(out.index) == ["x", "y"]


@pytest.mark.parametrize(
    "index",
    [
        pd.RangeIndex(3),
        pd.Index([7, 7, 7], name="again"),
        pd.MultiIndex.from_tuples([("a", 1), ("a", 1), ("b", 2)], names=["g", "i"]),
        pd.date_range("2020-01-01", periods=3),
    ],
)
def test_the_answer_has_the_index_of_the_question(index: pd.Index) -> None:
    out = answer(pd.DataFrame({"y": [0.0, 0.0, 0.0]}, index=index), ANSWER)
    pd.testing.assert_index_equal(out.index, index)
    assert out["y_cal"].tolist() == [1.0, 2.0, 3.0]


def test_polars_and_arrow_answer_in_kind() -> None:
    out = answer(pl.DataFrame({"y": [0.0, 0.0, 0.0]}), ANSWER)
    assert isinstance(out, pl.DataFrame)
    assert out["y_cal"].to_list() == [1.0, 2.0, 3.0]
    assert out["ids"].to_list() == ["a", "b", None]
    arrow = answer(pa.table({"y": [0.0, 0.0, 0.0]}), ANSWER)
    assert isinstance(arrow, pa.Table)
    assert arrow.column_names == ["y_cal", "ids"]


def test_an_answer_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(TableError, match="'y_cal'"):
        answer(pd.DataFrame({"y": [0.0]}), ANSWER)


def test_polars_reads_like_pandas() -> None:
    frame = pl.DataFrame({"a": [1, None], "b": ["x", "y"], "c": [True, False]})
    out = to_pandas(frame, ["c", "a"])
    assert list(out.columns) == ["c", "a"]
    assert out["a"].isna().tolist() == [False, True]
    assert column_names(frame) == ("a", "b", "c")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_missing_column_is_named_with_its_close_matches(make: Any) -> None:
    frame = make({"income": [1], "outcome": [2], "zzz": [3]})
    with pytest.raises(TableError, match=r"no column 'incme' \(nor column 'qqq'\): did you mean 'income'"):
        to_pandas(frame, ["incme", "zzz", "qqq"])
    with pytest.raises(TableError, match="it has 3 columns: 'income', 'outcome', 'zzz'"):
        to_pandas(frame, ["p"])
    with pytest.raises(TableError, match="'ZZZ': did you mean 'zzz'"):
        to_pandas(frame, ["ZZZ"])


def test_names_that_are_not_text_are_explained() -> None:
    with pytest.raises(TableError, match="astype"):
        to_pandas(pd.DataFrame(np.ones((2, 2))), ["0"])


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ["'a'", "more than once"]),
        (pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), ["'a'"]),
        (pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])), ["several levels"]),
        (pd.DataFrame({"a": []}), ["empty"]),
        (pl.DataFrame({"a": []}), ["empty"]),
        (pl.LazyFrame({"a": [1]}), ["lazy", ".collect()"]),
        (np.ones((2, 2)), ["ndarray", "pandas.DataFrame"]),
        ({"a": [1]}, ["dict"]),
        (pd.Series([1], name="a"), ["Series"]),
        (pl.Series("a", [1]), ["Series"]),
        (None, ["NoneType"]),
    ],
)
def test_what_is_no_table_is_refused(frame: Any, words: list[str]) -> None:
    with pytest.raises(TableError) as caught:
        to_pandas(frame, ["a"])
    for word in words:
        assert word in str(caught.value)


def test_a_role_that_is_the_index_is_named_as_that() -> None:
    frame = pd.DataFrame({"a": [1]}, index=pd.Index(["r"], name="county"))
    with pytest.raises(TableError, match=r"'county' is the index of the table .*\.reset_index"):
        to_pandas(frame, ["a", "county"])
