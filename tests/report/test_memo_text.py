"""The words of a memo: two sentences for the answer, the largest groups, and what would change it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import proxycal
from proxycal.report.memo_text import memo_plot, memo_text
from proxycal.table.surface import speaking


@pytest.fixture(scope="module")
def fit():
    sim = proxycal.simulate(n=400, d_z=2, d_e=2, n_proxies=3, alpha=5.0, random_state=0)
    # Sixteen regions of 25 rows.
    table = sim.table.assign(region=np.array([f"r{i % 16:02d}" for i in range(400)]))
    return proxycal.fit(
        "y ~ p_1 + p_2 + p_3 | e_1 + region", table, direction="over", method="moments"
    ).result_


def test_the_answer_is_two_sentences_with_the_numbers_of_the_fit(fit):
    said = memo_text(fit)
    assert said.answer.startswith("y is over-reported by about 5.")
    assert "The mean of y is" in said.answer
    assert "was reported as" in said.answer
    assert said.answer.count(". ") == 1
    assert "300" not in said.asked
    assert "too high in some of 400 rows" in said.asked


def test_the_table_has_the_largest_groups_and_all_rows_last(fit):
    said = memo_text(fit)
    assert len(said.rows) == 13
    assert said.rows[-1][:2] == ("All rows", "400")
    assert "12 largest groups of 16" in said.note
    assert memo_plot(fit).kind == "totals"


def test_a_refutation_that_was_asked_is_reported(fit):
    sim = proxycal.simulate(n=300, d_z=2, d_e=2, n_proxies=3, alpha=5.0, random_state=0)
    model = proxycal.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(sim.table)
    assert "Nobody has tried to refute" in memo_text(model.result_).would_change[-1]
    answer = model.refute("seed", repetitions=2)
    first = memo_text(model.result_).would_change[0]
    assert answer.reading in first
    assert first.startswith("Tried to refute it and it stood" if answer.ok else "A refutation succeeded")


def test_a_table_read_in_pieces_says_how_to_add_it_up(fit):
    with speaking("shell"):
        said = memo_text(replace(fit, totals=()))
    assert said.rows == ()
    assert "proxycal totals" in said.note


@pytest.mark.parametrize(
    ("language", "asked", "answer"),
    [
        ("de", "in einigen von 400 Zeilen zu hoch", "y wird in "),
        ("es", "de 400 filas", "demasiado alto"),
    ],
)
def test_the_memo_is_said_in_another_language_with_the_same_numbers(fit, language, asked, answer):
    english, said = memo_text(fit), memo_text(fit, language)
    assert asked in said.asked
    assert answer in said.answer
    assert len(said.rows) == len(english.rows)
    for mine, theirs in zip(said.rows, english.rows, strict=True):
        assert [cell.replace(",", "").replace(".", "") for cell in mine[2:4]] == [
            cell.replace(",", "").replace(".", "") for cell in theirs[2:4]
        ]
    whole = " ".join((*said.rests_on, *said.would_change))
    assert not {"the", "rows", "bias"} & set(whole.split()), "no English is left"
