"""The rows of the page: which, in which order, and by which names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from proxycal.report.rows import MAX_ROWS, dotted, row_names, row_table, thinned
from proxycal.table.surface import speaking


def test_large_tables_are_thinned_evenly(example):
    places = thinned(example(n=10_000))
    assert len(places) == MAX_ROWS
    assert (places[0], places[-1]) == (0, 9_999)
    assert np.all(np.diff(places) > 0)


def test_zeros_have_no_dot_on_the_log_scale_but_a_line_in_the_table(example):
    fit = example()
    y = np.abs(fit.rows.y_obs)
    y[:7] = 0.0
    fit = example(y_obs=y, scale="log")
    assert dotted(fit).tolist() == list(range(7, 400))
    assert len(row_table(fit).names) == 400


def test_rows_are_named_as_the_reader_knows_them(example):
    fit = example(n=3)
    assert row_names(fit) == ("index", ["0", "1", "2"])
    with speaking("shell"):
        assert row_names(fit) == ("row", ["2", "3", "4"]), "the first row of data of a spreadsheet is row 2"
    named = replace(
        fit, labels=np.array(["a", "b", "c"]), roles=replace(fit.roles, id="county", cluster=None)
    )
    with speaking("shell"):
        assert row_names(named) == ("county", ["a", "b", "c"])


def test_a_sample_of_rows_has_no_names(example):
    fit = example(n=5)
    fit = replace(fit, labels=np.arange(9).astype(str))
    assert row_table(fit).heading == ""
    assert set(row_table(fit).names) == {""}


def test_what_does_not_exist_is_null_and_never_nan(example):
    fit = example(n=4)
    predicted = replace(fit.rows.predicted, y_cal_low=np.full(4, np.nan))
    fit = replace(fit, rows=replace(fit.rows, predicted=predicted))
    assert row_table(fit).low == [None] * 4
    assert row_table(fit).records(2)[0][2] == pytest.approx(
        fit.rows.predicted.y_cal[row_table(fit).places[0]], rel=1e-5
    )
