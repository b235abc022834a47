"""Each question of the audit on a table that has its trouble and, as the fixture is, on one that has not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from proxycal.table import questions, weighting
from proxycal.table.audited import AuditTable
from proxycal.table.columns import code_hashables, read_column
from proxycal.table.questions import FEW_CLUSTERS
from proxycal.table.roles import Roles
from proxycal.table.weighting import WEIGHT_RATIO

if TYPE_CHECKING:
    import pandas as pd

FULL = Roles("loss", ["built", "veg"], ["income", "hazard"], weights="weight", cluster="county", id="row")


def asked(frame: pd.DataFrame, roles: Roles = FULL) -> AuditTable:
    keys = {name for role, name in roles if role in ("cluster", "id")}
    return AuditTable(
        frame.index,
        roles,
        columns={name: read_column(frame[name], name) for _, name in roles if name not in keys},
        keys={name: code_hashables(frame[name], name)[0] for name in keys},
        unread={},
    )


def clean(table: pd.DataFrame) -> pd.DataFrame:
    """The table with enough clusters."""
    return table.assign(county=np.arange(len(table)) % FEW_CLUSTERS)


ALL = [
    questions.few_rows, questions.missing, questions.infinite, questions.not_numeric, questions.levels,
    questions.constant, questions.duplicated, questions.collinear, questions.copy, questions.atom,
    weighting.weights, questions.cluster, questions.id, questions.scale,
]  # fmt: skip


@pytest.mark.parametrize("question", ALL, ids=lambda question: question.__name__)
def test_a_clean_table_troubles_no_question(question, table):
    assert question(asked(clean(table))) == []


def put(column: str, rows: list[int], value: object):
    def spoil(table: pd.DataFrame) -> pd.DataFrame:
        values = table[column].astype(object)
        values.iloc[rows] = value
        return table.assign(**{column: values.infer_objects()})

    return spoil


@pytest.mark.parametrize(
    ("question", "spoil", "value", "says"),
    [
        (questions.few_rows, lambda t: t.head(8), 8.0, "8 rows for"),
        (questions.missing, put("built", [2, 5], None), 2.0, "column 'built': 2 of 60 missing"),
        (questions.missing, put("loss", [2], None), 1.0, "column 'loss': 1 of 60 missing"),
        (questions.infinite, put("income", [4], np.inf), 1.0, "column 'income': 1 infinite value"),
        (questions.not_numeric, lambda t: t.assign(loss=["a", "b"] * 30), 2.0, "'loss' (outcome)"),
        (questions.not_numeric, lambda t: t.assign(hazard=["1", "2", "3"] * 20), 3.0, "'hazard'"),
        (questions.levels, put("hazard", [0], "quake"), 1.0, "1 level with fewer than 5 rows ('quake')"),
        (questions.levels, lambda t: t.assign(hazard=[f"h{i}" for i in range(60)]), None, "'hazard'"),
        (questions.constant, lambda t: t.assign(veg=3.0), 1.0, "column 'veg' (proxies): 3.0 in all 60 rows"),
        (questions.duplicated, lambda t: t.assign(veg=t["built"]), 2.0, "'built'"),
        (questions.collinear, lambda t: t.assign(veg=t["built"] + 1e-9 * t["veg"]), None, "'veg'"),
        (questions.copy, lambda t: t.assign(veg=2.0 * t["loss"] + 1.0), 1.0, "column 'veg' (proxies)"),
        (questions.atom, lambda t: t.assign(loss=t["loss"].where(t.index > 5, 0.0)), 0.1, "0 in 6 of 60"),
        (weighting.weights, put("weight", [3], 0.0), 1.0, "1 zero or negative"),
        (weighting.weights, put("weight", [3], 3 * WEIGHT_RATIO), 3 * WEIGHT_RATIO, "from 1 to 30000"),
        (questions.id, put("row", [7], "r1"), 1.0, "1 repeated"),
        (questions.id, put("row", [7], None), 1.0, "1 missing"),
        (questions.cluster, lambda t: t.assign(county=["a", "b"] * 30), 2.0, "2 clusters in 60 rows"),
        (questions.cluster, put("county", [9], None), 1.0, "1 missing"),
        (questions.scale, put("income", [6], 1e18), 1e18, "1 value up to 1e+18"),
    ],
)  # fmt: skip
def test_a_trouble_is_named_and_counted(question, spoil, value, says, table):
    troubles = question(asked(spoil(clean(table))))
    assert len(troubles) == 1
    assert says in troubles[0].statistic
    assert value is None or troubles[0].value == pytest.approx(value)
    assert not troubles[0].ok
    assert troubles[0].remedy


def test_a_gap_asks_for_what_its_role_allows(table):
    table = clean(table)
    remedies = {
        name: questions.missing(asked(put(name, [1], None)(table)))[0].remedy
        for name in ("loss", "built", "weight")
    }
    assert "never imputed" in remedies["loss"]
    assert "impute" in remedies["built"]
    assert "remove" in remedies["weight"]


def test_too_few_complete_rows_to_tell_is_no_trouble(table):
    holes = clean(table).assign(built=np.where(np.arange(60) < 58, np.nan, table["built"]))
    (trouble,) = questions.collinear(asked(holes))
    assert trouble.ok
    assert trouble.statistic == "2 complete rows"
