"""The invariants can fail: an answer that is wrong in one way is told by the check of that way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import proxycal
from benchmarks import invariants
from benchmarks.invariant_changes import CHANGES
from benchmarks.invariant_checks import (
    ask,
    changed,
    intervals,
    reach,
    rows_alone,
    saved,
    shape,
    shifts,
    totals,
    words,
)
from benchmarks.invariant_tables import CHOICES, answerable, make, plain_recipe, random_recipe
from benchmarks.invariants import examine, kind_of, shrink
from proxycal.result import Finding


@pytest.fixture(scope="module")
def said():
    case = make(plain_recipe(seed=3, method="exact", truth="none", trusted="some", change="rows"))
    model = proxycal.ProxyCalibrator(case.roles, **case.arguments).fit(case.table)
    assert model.verdict_ == "bias found"
    return ask(case, model, case.table)


def with_column(said, name, at, value):
    rows = said.rows.copy()
    rows.iloc[at, rows.columns.get_loc(name)] = value
    return replace(said, rows=rows)


def test_a_good_answer_passes(said):
    for check in (shape, intervals, shifts, reach, totals, words, rows_alone, saved, changed):
        assert list(check(said)) == []


@pytest.mark.parametrize(
    ("check", "name", "value", "message"),
    [
        (shape, "y_cal", np.nan, "y_cal is not finite in 1 rows"),
        (intervals, "y_cal_low", 1e9, "outside of its interval in 1 rows"),
        (intervals, "y_cal_low", np.nan, "one end of an interval is missing"),
        (intervals, "y_cal_high", np.inf, "without end"),
        (intervals, "p_biased", 1.5, "p_biased from"),
        (shifts, "y_cal", 1e9, "is not y_obs - shift"),
        (shifts, "shift", -1e9, "against the direction"),
        (reach, "y_cal", 1e9, "where reports and truths span"),
        (totals, "y_cal", 0.0, "calibrated total"),
        (rows_alone, "mu", 1e9, "every third row: mu differs"),
    ],
)
def test_an_answer_that_is_wrong_is_told(said, check, name, value, message):
    assert any(message in text for text in check(with_column(said, name, 3, value)))


def test_a_value_further_than_the_one_size_is_told(said):
    alpha = said.model.alpha_
    moved = with_column(said, "y_cal", 3, said.y[3] - 1.01 * alpha)
    assert any("where the one size is" in text for text in reach(moved))


def test_trusted_and_validated_rows_are_held_to(said):
    at = int(np.flatnonzero(said.trusted)[0])
    assert any("trusted report" in text for text in shifts(with_column(said, "shift", at, 1.0)))
    truth = said.table.assign(truth=np.where(np.arange(len(said.table)) == 3, 0.5, np.nan))
    known = replace(said, table=truth, case=replace(said.case, roles=replace(said.case.roles, truth="truth")))
    assert any("not its truth" in text for text in shifts(known))


def test_an_empty_finding_and_an_estimate_outside_of_its_interval_are_told(said):
    result = said.model.result_
    odd = replace(
        result,
        findings=(Finding("?", "", " ", "", ok=True),),
        estimate=replace(result.estimate, low=result.estimate.alpha + 1.0),
        share_biased=1.5,
    )
    model = proxycal.ProxyCalibrator(said.case.roles, **said.case.arguments)
    model.result_ = odd
    told = list(words(replace(said, model=model)))
    assert [text.split(" ")[0] for text in told] == ["finding", "alpha", "share"]


def test_what_a_change_moves_is_told(said, monkeypatch):
    monkeypatch.setitem(
        CHANGES, "rows", lambda case: (replace(case, table=case.table.assign(y=3.0 * case.table["y"])), 1.0)
    )
    assert any("alpha was" in text for text in changed(said))


def test_an_exception_that_is_not_ours_is_a_failure(monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(invariants, "ask", broken)
    assert examine(plain_recipe(truth="none"))["failures"] == ["fit: ZeroDivisionError: by zero"]


def test_a_recipe_makes_the_same_table_and_shrinks_to_what_matters(monkeypatch):
    recipe = random_recipe(17)
    pd.testing.assert_frame_equal(make(recipe).table, make(recipe).table)

    def found(recipe):
        return {"failures": [f"totals: {recipe['n']} rows"] if recipe["weights"] == "decades" else []}

    monkeypatch.setattr(invariants, "examine", found)
    plain = plain_recipe(seed=17)
    shrunk = shrink({**recipe, "weights": "decades", "gaps": "proxy"}, "totals: 7 rows")
    assert {name for name in plain if shrunk[name] != plain[name]} == {"weights"}
    assert kind_of("totals: 7 rows") == "totals: # rows"


def test_recipes_that_can_be_answered_mostly_are():
    recipes = [answerable(random_recipe(seed)) for seed in range(300)]
    assert all(
        recipe["method"] != "validated" or recipe["truth"] not in ("none", "few") for recipe in recipes
    )
    for name, choices in CHOICES.items():
        drawn = {random_recipe(seed)[name] for seed in range(300)}
        assert drawn == set(choices), name


def test_the_page_counts_tables_and_failures():
    trials = pd.DataFrame(
        {
            "seed": [1, 2, 3],
            "method": ["exact", "exact", ""],
            "failures": [["shape: 3 rows"], [], []],
            "warnings": [[], ["laws.py: overflow"], []],
            "seconds": [0.5, 1.5, 0.1],
            "error": [None, None, None],
        }
    )
    page = invariants.page(trials)
    assert page.parts[0].rows[0] == {
        "method": "exact", "tables": "2", "with a failure": "1", "to reach": "0", "warned by numpy": "1",
        "CPU s per table": "1.00",
    }  # fmt: skip
    assert "2 fits; seeds 1 to 3" in page.parts[0].note
    assert page.parts[1].rows == [{"failure": "shape: # rows", "tables": "1", "seeds": "1"}]
    assert len(invariants.bench().cells) == invariants.TABLES // invariants.BLOCK
    assert len(invariants.long().cells) == invariants.LONG // invariants.BLOCK
