from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from proxycal.errors import TableError
from proxycal.table.columns import code_hashables, read_column, read_plain

NUMBERS = [
    pd.Series([1, 2, None], dtype="Int64"),
    pd.Series([1, 2, None], dtype="Float32"),
    pd.Series([1, 2, None], dtype="int64[pyarrow]"),
    pd.Series([Decimal(1), Decimal(2), None], dtype=pd.ArrowDtype(pa.decimal128(5, 2))),
    pd.Series([1, 2, None], dtype=object),
    pd.Series([1, 2.0, pd.NA], dtype=object),
    pd.Series([Decimal("1"), 2.0, None], dtype=object),
    pd.Series([Decimal("1"), Decimal("2"), Decimal("NaN")], dtype=object),
    pd.Series([Decimal("1"), Decimal("2"), Decimal("sNaN")], dtype=object),
    pd.Series([Fraction(1), np.float32(2), np.nan], dtype=object),
    pd.Series([1.0, 2.0, np.nan], dtype="float16"),
    pd.Series(pd.arrays.SparseArray([1.0, 2.0, np.nan])),
    pl.Series([1, 2, None], dtype=pl.Int8).to_pandas(),
    pl.Series([1, 2, None], dtype=pl.Decimal(10, 2)).to_pandas(),
]


@pytest.mark.parametrize("series", NUMBERS, ids=lambda s: str(s.dtype))
def test_every_way_to_write_numbers(series: pd.Series) -> None:
    column = read_column(series, "x")
    assert column.kind == "number"
    np.testing.assert_array_equal(column.numbers, [1.0, 2.0, np.nan])
    assert column.missing.tolist() == [False, False, True]


LEVELS = [
    pd.Series(["b", "a", None]),
    pd.Series(["b", "a", None], dtype=object),
    pd.Series(["b", "a", None], dtype="string"),
    pd.Series(["b", "a", None], dtype="string[pyarrow]"),
    pd.Series(["b", "a", None], dtype=pd.ArrowDtype(pa.string())),
    pd.Series(["b", "a", None], dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))),
    pd.Series(["b", "a", None]).astype("category"),
    pd.Series(pd.Categorical(["b", "a", None], categories=["z", "b", "a"], ordered=True)),
    pl.Series(["b", "a", None], dtype=pl.Categorical).to_pandas(),
    pl.Series(["b", "a", None], dtype=pl.Enum(["b", "a", "z"])).to_pandas(),
]


@pytest.mark.parametrize("series", LEVELS, ids=lambda s: str(s.dtype))
def test_every_way_to_write_levels(series: pd.Series) -> None:
    column = read_column(series, "x")
    assert column.levels == ("a", "b")
    assert column.codes is not None
    assert column.codes.tolist() == [1, 0, -1]
    assert column.as_numbers() is None


@pytest.mark.parametrize("dtype", ["boolean", object, "bool[pyarrow]"])
def test_true_and_false_are_levels_and_also_numbers(dtype: Any) -> None:
    column = read_column(pd.Series([True, None, False], dtype=dtype), "x")
    assert column.kind == "boolean"
    assert column.levels == ("False", "True")
    np.testing.assert_array_equal(column.as_numbers(), [1.0, np.nan, 0.0])
    assert read_column(pd.Series([True, True]), "x").levels == ("True",)


def test_numbers_as_categories_are_written_one_way() -> None:
    whole = read_column(pd.Series([10, 2, 10]).astype("category"), "x")
    assert whole.levels == ("10", "2")
    codes, levels = read_column(pd.Series([10.0, 2.0, np.nan]), "x").as_levels()
    assert levels == ("10", "2")
    assert codes.tolist() == [0, 1, -1]
    cuts = read_column(pd.Series(pd.cut([1, 5], [0, 2, 9])), "x")
    assert cuts.levels == ("(0, 2]", "(2, 9]")


@pytest.mark.parametrize(
    ("series", "words"),
    [
        (pd.Series([1, "a", 2], dtype=object), ["mixes numbers and text", "index 1", "'a'"]),
        (pd.Series([True, 2, 3], dtype=object), ["mixes True/False and numbers", "index 0"]),
        (pd.Series([[1], [2]]), ["list"]),
        (pd.Series([{"a": 1}, None]), ["dict"]),
        (pd.Series([b"a", b"b"]), ["bytes"]),
        (pd.Series([1j, 2j]), ["complex"]),
        (pd.Series([1j, 2], dtype=object), ["complex"]),
        (pd.Series(pd.date_range("2020", periods=2)), ["dates", "days since"]),
        (pd.Series(pd.date_range("2020", periods=2, tz="UTC")), ["dates"]),
        (pd.Series(pd.timedelta_range("1D", periods=2)), ["dates"]),
        (pd.Series(pd.period_range("2020", periods=2, freq="M")), ["dates"]),
        (pd.Series([datetime.date(2020, 1, 1), None]), ["dates", "date"]),
        (pd.Series([datetime.datetime(2020, 1, 1), None], dtype=object), ["dates"]),
        (pd.Series([datetime.time(3), None]), ["dates"]),
        (pd.Series([1, 2], dtype=pd.ArrowDtype(pa.timestamp("s"))), ["dates"]),
        (pl.Series([datetime.date(2020, 1, 1)]).to_pandas(), ["dates"]),
        (pl.Series([[1, 2], [3]]).to_pandas(), ["ndarray"]),
        (pd.Series(pd.Categorical([1, "1"], categories=[1, "1"])), ["written alike"]),
        (pd.Series(pd.arrays.IntervalArray.from_breaks([0, 1, 2])), ["Interval"]),
    ],
)
def test_what_is_neither_numbers_nor_levels_is_refused(series: pd.Series, words: list[str]) -> None:
    with pytest.raises(TableError) as caught:
        read_column(series, "col <i>")
    for word in ["'col <i>'", *words]:
        assert word in str(caught.value)


def test_numbers_beyond_a_float_are_infinite_not_a_crash() -> None:
    column = read_column(pd.Series([10**400, -(10**400), Decimal("Infinity"), 1], dtype=object), "x")
    np.testing.assert_array_equal(column.numbers, [np.inf, -np.inf, np.inf, 1.0])


def test_text_that_reads_like_numbers() -> None:
    column = read_column(pd.Series(["12", "1,200", " $3.50", "40%", "1e5", "n/a", "nan", "flood 7"]), "x")
    assert sorted(column.looks_numeric()) == sorted(["12", "1,200", " $3.50", "40%", "1e5"])
    assert read_column(pd.Series(["1", "2"], dtype="category"), "x").looks_numeric() == []


def test_codes_of_any_key_ignore_the_order_of_rows() -> None:
    keys = np.array([3, "b", ("t", 1), 2.5, None, "a", 3, pd.Timestamp("2020"), 10], dtype=object)
    codes, values = code_hashables(pd.Series(keys), "c")
    assert codes[4] == -1
    assert codes[0] == codes[6]
    assert values[:3] == [2.5, 3, 10]
    turn = np.random.default_rng(0).permutation(len(keys))
    np.testing.assert_array_equal(code_hashables(pd.Series(keys[turn]), "c")[0], codes[turn])
    quiet = pd.Series(["a", Decimal("sNaN"), "b"], dtype=object)
    assert code_hashables(quiet, "c")[0].tolist() == [0, -1, 1]
    assert read_column(quiet, "c").levels == ("a", "b")
    with pytest.raises(TableError, match="'c'"):
        code_hashables(pd.Series([[1], [2]]), "c")


def test_plain_numbers_are_read_at_once_as_they_are_one_by_one() -> None:
    columns = {
        "f": [1.5, np.nan, np.inf],
        "t": ["a", "b", None],
        "i": [1, -2, 3],
        "u": np.array([7, 8, 9], "u1"),
        "h": np.array([0.1, 0.2, 0.3], "f4"),
        "n": pd.array([1, None, 3], dtype="Int64"),
        "b": [True, False, True],
        "big": [2**62, 1, 0],
    }
    table = pd.DataFrame(columns)
    names = ["u", "t", "big", "f", "n", "b", "h", "i"]
    read = read_plain(table, names)
    assert list(read) == ["u", "big", "f", "h", "i"]
    for name, column in read.items():
        alone = read_column(table[name], name)
        assert (column.name, column.kind, column.levels) == (name, "number", ())
        np.testing.assert_array_equal(column.numbers, alone.numbers, strict=True)
        np.testing.assert_array_equal(column.missing, alone.missing, strict=True)
    assert read_plain(table, ["t", "n"]) == {}
    assert list(read_plain(table[["f"]], ["f"])) == ["f"]
