"""What a fit keeps of its table, and answers laid over the rows of a table."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl

from proxycal.result import Effects, Estimate
from proxycal.settings import Settings
from proxycal.table.answers import (
    describe,
    effect_columns,
    estimates_frame,
    gaps_text,
    laid_out,
    row_labels,
    spread,
)
from proxycal.table.encode import Encoder
from proxycal.table.roles import Roles


def test_answers_stand_where_their_rows_stand():
    kept = np.array([True, False, True])
    columns = {
        "number": np.array([1.0, 2.0]),
        "count": np.array([3, 4]),
        "text": np.array(["a", "b"], dtype=object),
    }
    made = spread(columns, kept)
    np.testing.assert_array_equal(made["number"], [1.0, np.nan, 2.0])
    assert made["count"].tolist() == [3, 0, 4]
    assert made["text"].tolist() == ["a", None, "b"]
    frame = laid_out(pd.DataFrame({"y": [0, 0, 0]}, index=[7, 8, 9]), columns, kept)
    assert frame.loc[9, "number"] == 2.0
    assert isinstance(laid_out(pl.DataFrame({"y": [0, 0, 0]}), columns, kept), pl.DataFrame)


def test_rows_are_called_by_their_id_or_by_their_index(table, roles):
    named = Roles(roles.outcome, roles.proxies, roles.environment, id="row")
    assert row_labels(table, named).tolist() == table["row"].tolist()
    assert row_labels(table.set_index("row"), roles).tolist() == table["row"].tolist()
    assert row_labels(pl.from_pandas(table), roles)[:2].tolist() == ["0", "1"]


def test_gaps_are_counted_and_the_first_named():
    frame = pd.DataFrame({"y": range(4)}, index=list("abcd"))
    said = gaps_text(frame, np.array([True, False, True, False]), "y_cal")
    assert said.startswith("2 rows of 4 had missing values and got no answer (y_cal are missing)")
    assert "'b'" in said
    assert "missing='impute'" in said


def test_matches_are_named_nearest_first_and_those_that_are_not_there_left_out():
    effects = Effects(
        np.array([-1.5, 2.0]),
        np.array([2.0, 1.0]),
        np.array([[1, 0], [2, -1]]),
        np.array([[0.5, 1.25], [1 / 3, np.nan]]),
    )
    made = effect_columns(effects, np.array(["a", "b", "c"], dtype=object))
    assert made["matched"].tolist() == ["b; a", "c"]
    assert made["distances"].tolist() == ["0.5; 1.25", "0.333333"]
    assert made["tau_abs"].tolist() == [1.5, 2.0]
    assert made["n_matched"].dtype == np.int64


def test_estimates_are_a_row_each():
    frame = estimates_frame([Estimate("match", 2.0, 0.1, 1.8, 2.2), Estimate.missing("exact", "not run")])
    assert frame.index.tolist() == ["match", "exact"]
    assert frame.loc["match", ["alpha", "se", "low", "high"]].tolist() == [2.0, 0.1, 1.8, 2.2]
    assert math.isnan(frame.loc["exact", "alpha"])
    assert frame.loc["exact", "note"] == "not run"


def described(table, roles, **how):
    encoder, arrays = Encoder.fit_transform(table, roles, "drop")
    return describe(table, encoder, arrays, Settings(direction="over"), **how), arrays


def test_a_description_is_of_the_rows_that_were_kept(table, roles):
    table.loc[[0, 4], "built"] = np.nan
    made, arrays = described(table, roles)
    kept = table.drop(index=[0, 4])
    assert made.labels.tolist() == [str(i) for i in kept.index]
    np.testing.assert_array_equal(made.y_obs, kept["loss"])
    income, hazard = made.environment
    np.testing.assert_array_equal(income.values, kept["income"])
    assert [hazard.levels[int(code)] for code in hazard.values] == kept["hazard"].tolist()
    assert arrays.n == made.training.n == 58
    assert "missing" in {finding.topic for finding in made.findings}


def test_findings_that_the_method_allows_for_are_left_out(table, roles):
    table["loss"] = np.where(np.arange(60) < 10, 0.0, table["loss"])
    assert "atom" in {finding.topic for finding in described(table, roles)[0].findings}
    assert "atom" not in {finding.topic for finding in described(table, roles, allowed=("atom",))[0].findings}


def test_large_tables_are_shown_by_a_sample(table, roles, monkeypatch):
    monkeypatch.setattr("proxycal.table.answers.ROWS_SHOWN", 25)
    made, arrays = described(table, roles)
    assert (len(made.shown), len(made.y_obs), len(made.labels)) == (25, 25, 60)
    assert (np.diff(made.shown) > 0).all()
    np.testing.assert_array_equal(made.y_obs, arrays.y[made.shown])
    np.testing.assert_array_equal(made.environment[0].values, table["income"].to_numpy()[made.shown])
