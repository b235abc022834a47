"""Whatever a table holds is text on the page."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from proxycal.app import views
from proxycal.app.answer import Answer, Shown
from proxycal.app.guess import guess_roles
from proxycal.app.tables import Table
from proxycal.result import Finding

HOSTILE = "<img src=x onerror=alert(1)>\"'&"


@pytest.fixture
def table():
    frame = pd.DataFrame({HOSTILE: [HOSTILE, "b"] * 15, "y": range(30)})
    return Table(f"{HOSTILE}.csv", Path("table-1.csv"), frame, note=HOSTILE)


def all_views(table):
    shown = Shown("residual", HOSTILE, HOSTILE, HOSTILE)
    answer = Answer("bias found", HOSTILE, ((HOSTILE, HOSTILE),), (shown,), (HOSTILE,), 1, 2, HOSTILE)
    links = dict.fromkeys(("table", "report", "view", "python", "shell"), "session/x")
    trouble = Finding(HOSTILE, HOSTILE, HOSTILE, HOSTILE, ok=False)
    return {
        "table": views.table_read(table),
        "columns": views.columns(table, 1, guess_roles(table.frame), "over"),
        "audit": views.audit([trouble, Finding(HOSTILE, "", HOSTILE, "", ok=True)]),
        "message": views.message(HOSTILE),
        "answer": views.answer(answer, links, HOSTILE, HOSTILE, "residual", 1.0),
        "picture": views.picture(shown, "<svg></svg>"),
    }


def test_nothing_from_a_table_becomes_markup(table):
    for name, made in all_views(table).items():
        assert "<img" not in made, name
        assert "&lt;img" in made, name


def test_the_drawing_itself_is_markup(table):
    assert "<svg></svg>" in all_views(table)["picture"]


def test_a_category_may_have_sizes_of_its_own(table):
    made = all_views(table)["columns"]
    assert 'value="by:&lt;img' in made
    assert 'value="by:y"' not in made


@pytest.mark.parametrize("installed", [True, False])
def test_the_networks_are_offered_where_torch_is_installed(table, monkeypatch, installed):
    monkeypatch.setattr("proxycal.methods.registry.is_installed", lambda package: installed)
    made = all_views(table)["columns"]
    assert ('<option value="paper" disabled>' in made) is not installed
    assert ("proxycal[paper]" in made) is not installed


def test_guesses_are_chosen_and_ids_do_not_depend_on_names(table):
    made = all_views(table)["columns"]
    assert 'id="role_1_0"' in made
    assert 'value="outcome" selected' in made


def test_findings_that_are_fine_are_folded_away():
    fine = [Finding("Enough rows?", "40 rows", "Enough.", "", ok=True)] * 3
    assert "All 3 questions are answered well." in views.audit(fine)
    assert "1 to look at, 3 fine." in views.audit([*fine, Finding("q", "s", "r", "Do this.", ok=False)])
    assert "Do this." in views.audit([Finding("q", "s", "r", "Do this.", ok=False)])
