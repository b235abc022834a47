from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from proxycal.errors import TableError
from proxycal.table.audit import audit
from proxycal.table.roles import Roles

if TYPE_CHECKING:
    from proxycal.result import Finding

FULL = Roles(
    "loss",
    ["built", "veg"],
    ["income", "hazard"],
    weights="weight",
    cluster="county",
    id="row",
    truth="audited",
)
N = 60


def troubles(table: Any, roles: Roles = FULL) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = {}
    for finding in audit(table, roles):
        if not finding.ok:
            found.setdefault(finding.topic, []).append(finding)
    found.pop("cluster", None)  # the fixture has four clusters, which is few, and is tested on its own
    return found


def test_a_clean_table_gets_every_question_answered(table: pd.DataFrame) -> None:
    table["county"] = np.arange(N)
    found = audit(table, FULL)
    assert [finding.topic for finding in found if not finding.ok] == []
    assert len(found) == 19
    for finding in found:
        assert finding.question.endswith("?")
        assert finding.reading
        assert finding.remedy
    bare = {finding.topic for finding in audit(table, Roles("loss", ["built"], ["income"]))}
    assert bare.isdisjoint({"weights", "cluster", "truth", "id"})


CASES: list[tuple[str, Any, str, list[str], float]] = [
    ("income", [np.nan, 1.0, 2.0, np.nan] * 15, "missing", ["'income'", "30 of 60", "index 0, 3, 4"], 30),
    ("hazard", [None, "a", "b"] * 20, "missing", ["'hazard'", "20 of 60", "index 0, 3, 6"], 20),
    ("veg", [np.inf] + [1.0, 2.0] * 29 + [-np.inf], "infinite", ["'veg'", "2 infinite", "index 0, 59"], 2),
    ("veg", [7.0] * N, "constant", ["'veg'", "7.0 in all 60"], 1),
    ("hazard", ["x"] * N, "constant", ["'hazard'", "'x' in all 60"], 1),
    ("loss", [1.5] * N, "constant", ["'loss'", "outcome"], 1),
    ("loss", ["a", "b"] * 30, "numeric", ["'loss'", "text", "'a', 'b'"], 2),
    ("built", [f"{i},000" for i in range(N)], "numeric", ["'built'", "'0,000'"], 60),
    ("income", pd.date_range("2020", periods=N), "numeric", ["'income'", "dates"], 60),
    ("row", [[1]] * N, "numeric", ["'row'"], 60),
    ("hazard", [f"h{i}" for i in range(N)], "levels", ["'hazard'", "60 levels"], 60),
    ("hazard", ["a", "b"] * 29 + ["c", "c"], "levels", ["'c'", "fewer than 5", "index 58, 59"], 1),
    ("weight", [0.0] + [1.0] * 58 + [-1.0], "weights", ["'weight'", "2 zero or negative", "index 0, 59"], 2),
    ("weight", [1e6] + [1.0] * 59, "weights", ["'weight'", "1e+06", "index 0"], 1e6),
    (
        "row",
        ["a", "a", "b", "b"] + [f"r{i}" for i in range(56)],
        "id",
        ["'row'", "2 repeated", "index 1, 3"],
        2,
    ),
    ("row", [None, None] + [f"r{i}" for i in range(58)], "id", ["'row'", "2 missing", "index 0, 1"], 2),
    ("loss", [0.0] * 6 + list(np.arange(1.0, 55.0)), "atom", ["'loss'", "0 in 6 of 60", "10%"], 0.1),
    ("veg", [1e20, *np.arange(59.0)], "scale", ["'veg'", "1e+20", "index 0"], 1e20),
    ("veg", list(np.arange(1.0, 61.0) * 1e30), "scale", ["'veg'", "6e+31", "index 59"], 6e31),
    ("veg", list(np.arange(1.0, 61.0) * 1e-30), "scale", ["'veg'", "6e-29"], 6e-29),
]


@pytest.mark.parametrize(("column", "values", "topic", "words", "value"), CASES)
def test_every_trouble_is_found_with_column_count_and_rows(
    table: pd.DataFrame, column: str, values: Any, topic: str, words: list[str], value: float
) -> None:
    assert topic not in troubles(table)
    table[column] = values
    (finding,) = troubles(table)[topic]
    for word in words:
        assert word in finding.statistic, finding.statistic
    assert finding.value == pytest.approx(value)


def test_relations_between_columns(table: pd.DataFrame) -> None:
    roles = Roles("loss", ["built", "veg", "again", "copy"], ["income", "sum"])
    table["again"], table["copy"] = table["veg"], 3 - 2 * table["loss"]
    table["sum"] = table["built"] + table["income"] / table["income"].std()
    found = troubles(table, roles)
    assert "'veg', 'again'" in found["duplicated"][0].statistic
    assert "'built', 'income', 'sum'" in found["collinear"][0].statistic
    assert "'copy'" in found["copy"][0].statistic


def test_few_rows_and_few_clusters(table: pd.DataFrame) -> None:
    assert troubles(table.head(12))["rows"][0].value == 12
    (cluster,) = [finding for finding in audit(table, FULL) if finding.topic == "cluster"]
    assert "4 clusters in 60 rows" in cluster.statistic
    table.loc[3, "county"] = None
    (cluster,) = [finding for finding in audit(table, FULL) if finding.topic == "cluster"]
    assert "1 missing, at index 3" in cluster.statistic


def test_truth_may_have_gaps_and_labels_are_shown(table: pd.DataFrame) -> None:
    table.index = pd.Index([f"unit {i}" for i in range(N)])
    table.loc["unit 7", "veg"] = np.nan
    found = troubles(table)
    assert list(found) == ["missing"]
    assert "at index 'unit 7'" in found["missing"][0].statistic


def test_rows_with_gaps_are_one_finding(table: pd.DataFrame) -> None:
    table.loc[[3, 4], "hazard"], table.loc[[4, 9, 11], "veg"] = None, np.nan
    (finding,) = troubles(table)["missing"]
    assert finding.statistic == "4 of 60 rows: 'veg' 3, 'hazard' 2; first at index 3, 4, 9"
    assert finding.value == 4


def test_a_thousand_bad_columns_do_not_make_a_thousand_findings() -> None:
    bad = pd.DataFrame({f"e{i}": [float(i)] * 30 for i in range(40)})
    bad["y"], bad["p"] = np.arange(30.0) ** 2, np.sin(np.arange(30.0))
    found = troubles(bad, Roles("y", ["p"], [f"e{i}" for i in range(40)]))["constant"]
    assert len(found) == 11
    assert found[-1].statistic == "30 more of the same"


def test_polars_gets_the_same_answers(table: pd.DataFrame) -> None:
    table.loc[[3, 4], "hazard"] = None
    assert audit(pl.from_pandas(table), FULL) == audit(table, FULL)


def test_a_table_that_cannot_be_audited_raises(table: pd.DataFrame) -> None:
    with pytest.raises(TableError, match="'veg'"):
        audit(table.drop(columns="veg"), FULL)
