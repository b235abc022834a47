from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from proxycal.errors import SettingsError, TableError
from proxycal.table.audit import audit
from proxycal.table.require import require
from proxycal.table.roles import Roles

N = 60
FULL = Roles(
    "loss",
    ["built", "veg"],
    ["income", "hazard"],
    weights="weight",
    cluster="county",
    id="row",
    truth="audited",
)


def message(table: pd.DataFrame, roles: Roles, missing: Any = "raise") -> str:
    with pytest.raises(TableError) as caught:
        require(table, roles, missing)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_a_sound_table_passes(table: pd.DataFrame, roles: Roles) -> None:
    require(table, roles)
    require(table, FULL)
    require(pl.from_pandas(table), FULL)


def test_the_message_for_gaps_is_the_promised_one(table: pd.DataFrame, roles: Roles) -> None:
    table.loc[[4, 9, 17], "income"] = np.nan
    assert message(table, roles) == (
        "column 'income' holds 3 missing values, first at index 4, 9, 17: pass missing='drop' or 'impute'"
    )
    require(table, roles, "drop")
    require(table, roles, "impute")
    table.loc[2, "hazard"] = None
    assert "(also column 'hazard')" in message(table, roles)


def test_the_outcome_is_never_imputed(table: pd.DataFrame, roles: Roles) -> None:
    table.loc[5, "loss"] = np.nan
    assert "never imputed" in message(table, roles, "impute")
    assert "at index 5" in message(table, roles, "impute")
    require(table, roles, "drop")


def test_an_unknown_rule_for_gaps_is_refused(table: pd.DataFrame, roles: Roles) -> None:
    with pytest.raises(SettingsError, match=r"'ignore'.*'raise', 'drop' or 'impute'"):
        require(table, roles, "ignore")  # type: ignore[arg-type]


BROKEN: list[tuple[str, Any, list[str]]] = [
    ("loss", 3.5, ["'loss'", "constant", "3.5"]),
    ("loss", [0.1 + 0.2, 0.3] * 30, ["'loss'", "constant"]),
    ("loss", ["much", "little"] * 30, ["'loss'", "text", "numeric"]),
    ("loss", ["1,200", "12"] * 30, ["'loss'", "written as text", "'1,200'", "to_numeric"]),
    ("loss", pd.Series(range(N)).astype("category"), ["'loss'", "categories"]),
    ("loss", [np.inf, 1.0] * 30, ["'loss'", "30 infinite", "index 0, 2, 4"]),
    ("loss", [1e200, 1.0] * 30, ["'loss'", "1e+200", "too large"]),
    ("loss", [1e-200, 2e-200] * 30, ["'loss'", "power of ten"]),
    ("loss", [None] * N, ["'loss'", "every value is missing"]),
    ("built", [-np.inf] + [1.0, 2.0] * 29 + [1.0], ["'built'", "1 infinite", "index 0"]),
    ("built", [str(i) for i in range(N)], ["'built'", "proxy", "written as text"]),
    ("built", ["n/a", *map(str, range(N - 1))], ["'built'", "written as text", "beside 'n/a'"]),
    ("built", pd.date_range("2020", periods=N), ["'built'", "dates"]),
    ("income", pd.date_range("2020", periods=N), ["'income'", "dates", "days since"]),
    ("income", [10**400] + [1] * (N - 1), ["'income'", "infinite"]),
    (
        "hazard",
        [f"county {i}" for i in range(N)],
        ["'hazard'", "makes 59 of them", "needs at least 124", "group its levels"],
    ),
    ("hazard", [str(i) for i in range(N)], ["'hazard'", "60 levels", "60 of which read like numbers"]),
    ("hazard", [None] * N, ["'hazard'", "every value is missing"]),
    ("hazard", [1, "a"] * 30, ["'hazard'", "mixes"]),
    ("weight", [0.0, 1.0] * 30, ["'weight'", "30 zero or negative", "index 0, 2, 4"]),
    ("weight", [-1.0] + [1.0] * 59, ["'weight'", "1 zero or negative", "index 0"]),
    ("weight", [np.nan] + [1.0] * 59, ["'weight'", "1 missing"]),
    ("weight", ["a"] * N, ["'weight'", "text"]),
    ("weight", [1e-80] + [1.0] * 59, ["'weight'", "rescale"]),
    ("weight", [1e80] + [1.0] * 59, ["'weight'", "too large"]),
    ("county", [None] + ["a"] * 59, ["'county'", "cluster", "1 missing", "index 0"]),
    ("county", [[1]] * N, ["'county'"]),
    ("county", ["a"] * N, ["'county'", "cluster", "one value in all 60 rows"]),
    ("audited", ["yes"] * N, ["'audited'", "truth"]),
    ("audited", [np.inf] + [np.nan] * 59, ["'audited'", "infinite"]),
]


@pytest.mark.parametrize(("column", "values", "words"), BROKEN)
def test_what_makes_a_fit_impossible_is_refused_by_name(
    table: pd.DataFrame, column: str, values: Any, words: list[str]
) -> None:
    table[column] = pd.Series([values] * N if np.isscalar(values) else list(values), dtype=object)
    if not isinstance(values, list) and not np.isscalar(values):
        table[column] = values
    text = message(table, FULL)
    for word in words:
        assert word in text, text


def test_all_constant_proxies_or_environment(table: pd.DataFrame, roles: Roles) -> None:
    table["built"], table["veg"] = 1.0, "x"
    assert "columns 'built', 'veg' (proxies): constant" in message(table, roles)
    table["built"] = np.arange(N)
    require(table, roles)
    table["income"], table["hazard"] = 1, True
    assert "columns 'income', 'hazard' (environment): constant" in message(table, roles)


def test_the_minimum_of_rows(table: pd.DataFrame, roles: Roles) -> None:
    assert "3 usable rows" in message(table.head(3), roles)
    assert "19 usable rows" in message(table.head(19), roles)
    require(table.head(20), roles)
    wide = pd.concat(
        [
            table.head(40),
            *[
                table["built"].sample(40, random_state=i).reset_index(drop=True).rename(f"c{i}")
                for i in range(20)
            ],
        ],
        axis=1,
    )
    many = Roles("loss", [f"c{i}" for i in range(20)], ["income", "hazard"])
    assert "needs at least 46" in message(wide, many)
    table.loc[5:, "income"] = np.nan
    assert "5 usable rows after dropping 55 rows" in message(table, roles, "drop")
    table["veg"] = [np.nan] * 5 + [1.0] * 55
    assert "every one of the 60 rows has a missing value" in message(table, roles, "drop")


def test_constant_among_the_rows_that_are_left(table: pd.DataFrame, roles: Roles) -> None:
    table["loss"] = [1.0] * 50 + [2.0] * 10
    table.loc[50:, "income"] = np.nan
    assert "constant (1 in all 50 rows)" in message(table, roles, "drop")


def test_a_missing_id_column_is_named(table: pd.DataFrame) -> None:
    assert "'row'" in message(table.drop(columns="row"), FULL)


@pytest.mark.parametrize("bad", [0.0, 1.5, -2.0, np.nan])
def test_a_count_is_a_whole_number_of_at_least_one(bad):
    x = np.arange(40.0)
    table = pd.DataFrame({"y": x, "p": x**2, "e": x % 3, "times": np.where(x == 4, bad, 2.0)})
    wanted = (
        r"'times' \(counts\) holds 1 value .* index 4: a count is a whole number of at least 1.*role weights"
    )
    with pytest.raises(TableError, match=wanted):
        require(table, Roles("y", ["p"], ["e"], counts="times"))


def states(n: int = 240, levels: int = 51) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    z = rng.normal(size=n)
    state = [f"state {code % levels:02d}" for code in range(n)]
    return pd.DataFrame({"loss": z, "p": z + rng.normal(size=n), "e": rng.normal(size=n), "state": state})


@pytest.mark.parametrize("levels", [51, 110])
def test_a_category_may_have_as_many_levels_as_the_rows_carry(levels):
    roles = Roles("loss", ["p"], ["e", "state"])
    require(states(levels=levels), roles)
    assert not [finding for finding in audit(states(levels=levels), roles) if finding.must_fix]


def test_too_few_rows_for_a_category_names_it():
    with pytest.raises(
        TableError, match="column 'state' makes 129 of them: group its levels or leave it out"
    ):
        require(states(levels=130), Roles("loss", ["p"], ["e", "state"]))
