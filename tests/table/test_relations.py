from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from proxycal.table.columns import Column, read_column
from proxycal.table.relations import collinear_sets, copies, duplicates


def columns(**values: object) -> list[Column]:
    return [read_column(pd.Series(value), name) for name, value in values.items()]


RNG = np.random.default_rng(0)
X, Y, Z = RNG.normal(size=(3, 200))
ALL = np.ones(200, dtype=bool)


def test_duplicates_are_exact_and_by_value() -> None:
    gap = np.where(np.arange(200) == 3, np.nan, X)
    found = duplicates(
        columns(a=X, b=Y, c=X.copy(), d=gap, e=gap * 1.0, f=X + 1e-12, g=["u", "v"] * 100, h=["u", "v"] * 100)
    )
    assert found == [("a", "c"), ("d", "e"), ("g", "h")]
    assert duplicates(columns(g=["u", "v"] * 100, k=["v", "w"] * 100)) == []


@pytest.mark.parametrize(
    ("x", "how"),
    [
        (Y, "equals"),
        (1e200 - 3e200 * Y, "other units"),
        (np.exp(Y), "order"),
        (-np.exp(Y), "order"),
        (Y + 1e-3 * X, None),
        (X, None),
        (np.ones(200), None),
    ],
)
def test_copies_of_the_outcome(x: np.ndarray, how: str | None) -> None:
    outcome = read_column(pd.Series(Y), "y")
    found = copies(outcome, columns(x=x, text=["a", "b"] * 100))
    assert [name for name, _ in found] == ([] if how is None else ["x"])
    if how is not None:
        assert how in found[0][1]


def test_a_copy_with_gaps_is_still_a_copy() -> None:
    outcome = read_column(pd.Series(Y), "y")
    assert len(copies(outcome, columns(x=np.where(np.arange(200) < 50, np.nan, 2 * Y)))) == 1


def test_all_rows_decide_what_the_first_rows_suggest() -> None:
    y = np.random.default_rng(1).normal(size=3000)
    late = np.where(np.arange(3000) < 2000, y, -y)
    still = np.where(np.arange(3000) < 2000, 0.0, y)
    outcome = read_column(pd.Series(y), "y")
    assert copies(outcome, columns(late=late, still=still, noise=y[::-1].copy())) == []
    twice = read_column(pd.Series(still), "y")
    assert [name for name, _ in copies(twice, columns(copy=2 * still))] == ["copy"]


def test_collinear_sets_name_those_who_take_part() -> None:
    found = collinear_sets(columns(a=X, b=Y, c=X + Y + 1e-4 * Z, d=Z), ALL)
    assert found is not None
    ((names, value),) = found
    assert names == ("a", "b", "c")
    assert value < 1e-6
    level = np.array(["u", "v", "w"] * 66 + ["u", "v"])
    found = collinear_sets(columns(a=X, s=level, t=np.char.add(level, "!")), ALL)
    assert found is not None
    assert {names for names, _ in found} == {("s", "t")}


def test_ordinary_correlation_is_not_collinear() -> None:
    assert collinear_sets(columns(a=X, b=X + 0.2 * Y, c=np.abs(Z), d=Z**2), ALL) == []


def test_too_few_rows_to_tell() -> None:
    few = np.arange(200) < 4
    assert collinear_sets(columns(a=X, b=Y), few) is None
