"""Whatever a table holds is text on the page."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from html import unescape
from pathlib import Path

import pandas as pd
import pytest

from proxycal.app import views
from proxycal.app.answer import Answer, Said
from proxycal.app.shown import Shown
from proxycal.app.tables import Table
from proxycal.methods.registry import METHODS, register
from proxycal.report.pictures import Picture
from proxycal.result import OUTPUT_COLUMNS, Finding
from proxycal.table.guess import guess_roles

HOSTILE = "<img src=x onerror=alert(1)>\"'&"


@pytest.fixture
def table():
    frame = pd.DataFrame({HOSTILE: [HOSTILE, "b"] * 15, "y": range(30)})
    return Table(f"{HOSTILE}.csv", Path("table-1.csv"), frame, note=HOSTILE)


def all_views(table):
    shown = Picture("residual", "evidence", HOSTILE, HOSTILE, HOSTILE, wide=True, svg="<svg></svg>")
    said = (Said(HOSTILE, HOSTILE, HOSTILE, ok=False), Said(HOSTILE, HOSTILE, "", ok=True))
    answer = Answer(
        verdict="bias found",
        sentence=HOSTILE,
        facts=((HOSTILE, HOSTILE),),
        pictures=(shown,),
        warnings=(HOSTILE,),
        memo=HOSTILE,
        certain=(HOSTILE,),
        learned=HOSTILE,
        about_table=said,
        about_method=said,
        power=HOSTILE,
        refutations=(HOSTILE,),
        direction="over",
        factor=False,
    )
    totals = Shown(HOSTILE, "total", "95", ((HOSTILE,) * 6,), None, (HOSTILE,))
    links = defaultdict(lambda: "session/x")
    trouble = Finding(HOSTILE, HOSTILE, HOSTILE, HOSTILE, ok=False)
    return {
        "table": views.table_read(table),
        "columns": views.columns(table, 1, guess_roles(table.frame), "over"),
        "audit": views.audit([trouble, Finding(HOSTILE, "", HOSTILE, "", ok=True)]),
        "message": views.message(HOSTILE),
        "answer": views.answer(answer, links, HOSTILE, HOSTILE, "residual", 1.0, [HOSTILE], HOSTILE),
        "totals": views.totals(totals),
        "band": views.band(HOSTILE, [(HOSTILE,) * 5], HOSTILE),
        "picture": views.picture(shown),
    }


def test_nothing_from_a_table_becomes_markup(table):
    for name, html in all_views(table).items():
        assert "<img" not in html, name
        assert "&lt;img" in html, name


def test_the_drawing_itself_is_markup(table):
    assert "<svg></svg>" in all_views(table)["picture"]


def test_a_category_may_have_sizes_of_its_own(table):
    html = all_views(table)["columns"]
    assert 'value="by:&lt;img' in html
    assert 'value="by:y"' not in html


@pytest.mark.parametrize("library", ["numpy", "no_such_library"])
def test_a_method_is_offered_where_its_libraries_are_installed(table, library):
    toy = replace(METHODS["moments"], name="toy", libraries=(library,), needs="toys")
    with register(toy):
        html = all_views(table)["columns"]
    installed = library == "numpy"
    assert ('<option value="toy" disabled>' in html) is not installed
    assert ("proxycal[toys]" in html) is not installed


def test_the_answer_lists_the_columns_that_calibration_adds(table):
    html = all_views(table)["answer"]
    for column in OUTPUT_COLUMNS:
        assert f"<code>{column.name}</code></dt><dd>{column.meaning}" in unescape(html)


@pytest.mark.parametrize(("stated", "checked"), [("", []), ("under", ["under"])])
def test_a_direction_is_chosen_by_the_reader_unless_the_table_came_with_one(table, stated, checked):
    html = views.columns(table, 1, guess_roles(table.frame), stated)
    assert re.findall(r'name="direction" value="(\w+)" checked', html) == checked
    assert len(re.findall('name="direction"', html)) == 2


def test_guesses_are_chosen_and_ids_do_not_depend_on_names(table):
    html = all_views(table)["columns"]
    assert 'id="role_1_0"' in html
    assert 'value="outcome" selected' in html


def test_findings_that_are_fine_are_folded_away():
    fine = [Finding("Enough rows?", "40 rows", "Enough.", "", ok=True)] * 3
    assert "All 3 checks passed." in views.audit(fine)
    assert "1 to look at, 3 passed." in views.audit([*fine, Finding("q", "s", "r", "Do this.", ok=False)])
    assert "Do this." in views.audit([Finding("q", "s", "r", "Do this.", ok=False)])
