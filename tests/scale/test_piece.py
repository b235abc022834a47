"""Some rows of a larger table: they get the answer that they have in the whole."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from proxycal.errors import TableError
from proxycal.fitting import fit_table
from proxycal.methods.registry import register
from proxycal.result import OUTPUT_COLUMNS
from proxycal.scale.piece import calibrate_piece, complete_rows, needed_columns, refuse_taken
from proxycal.settings import Settings
from proxycal.table.roles import Roles
from proxycal.testing import SeveralReports
from toy_method import TOY

TABLE = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 4)), columns=["y", "p", "e", "other"])


@pytest.fixture
def fit():
    with register(TOY):
        yield fit_table(
            TABLE, Roles("y", ["p"], ["e"]), Settings(direction="over", method="toy", missing="drop")
        )


def test_the_columns_that_calibration_reads(fit):
    assert needed_columns(fit, ["other", "e", "p", "y"]) == ["y", "p", "e"]
    # Where one is absent all are read, so that the error can name it.
    assert needed_columns(fit, ["other", "e", "y"]) == ["other", "e", "y"]


@pytest.mark.parametrize("column", [column.name for column in OUTPUT_COLUMNS])
def test_a_column_that_calibration_writes_is_refused(column):
    with pytest.raises(TableError, match=rf"'t\.csv' already has a column '{column}'"):
        refuse_taken(["y", column], "'t.csv'")
    refuse_taken(["y", "p"], "'t.csv'")


def test_a_piece_gets_the_answer_of_the_whole(fit):
    whole, kept = calibrate_piece(fit, TABLE[["y", "p", "e"]])
    assert kept.all()
    assert list(whole) == [column.name for column in OUTPUT_COLUMNS]
    part, _ = calibrate_piece(fit, TABLE.loc[[30, 7], ["y", "p", "e"]])
    for name, values in part.items():
        np.testing.assert_array_equal(values, whole[name][[30, 7]])


def test_columns_that_are_blank_by_design_cost_no_row_its_answer():
    table = TABLE.assign(truth=np.nan, sure=np.where(TABLE.index < 3, 1.0, np.nan))
    roles = Roles("y", ["p"], ["e"], truth="truth", trusted="sure")
    with register(TOY):
        fit = fit_table(table, roles, Settings(direction="over", method="toy", missing="drop"))
        made, kept = calibrate_piece(fit, table.loc[20:, ["y", "p", "e", "truth", "sure"]])
    assert kept.all()
    assert np.isfinite(made["y_cal"]).all()


def test_rows_with_gaps_get_no_answer_also_where_all_have_one(fit):
    piece = TABLE.loc[:2, ["y", "p", "e"]].copy()
    piece.loc[1, "p"] = np.nan
    made, kept = calibrate_piece(fit, piece)
    assert kept.tolist() == [True, False, True]
    assert np.isnan(made["y_cal"]).tolist() == [False, True, False]
    empty, none = calibrate_piece(fit, piece.loc[[1]])
    assert not none.any()
    assert all(np.isnan(values).all() and len(values) == 1 for values in empty.values())


def test_a_piece_of_several_reports_is_answered_where_one_was_made():
    drawn = SeveralReports(3.0).draw(1, 200)
    fit = fit_table(drawn.table, drawn.roles, Settings(direction="under"))
    piece = drawn.table[:4].copy()
    piece.loc[[0, 1], "own"] = np.nan
    piece.loc[[1, 2], "register"] = np.nan
    assert needed_columns(fit, piece.columns) == ["own", "register", "e_1", "e_2"]
    assert complete_rows(fit, piece).tolist() == [True, False, True, True]
