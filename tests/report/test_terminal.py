"""Results as lines of text: the estimators side by side, and findings with what to do."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from proxycal.report.summary import sentence
from proxycal.report.terminal import estimate_table, show_findings, show_result
from proxycal.result import Estimate, Finding

FINE = Finding("Enough rows?", "400 rows", "There are.", "Nothing.", ok=True)
POOR = Finding("Do the proxies see?", "R2 0.04", "Hardly.", "Add a proxy.", ok=False)


def told(show, *arguments, **options) -> str:
    console = Console(file=io.StringIO(), markup=False, emoji=False, highlight=False, width=200)
    show(console, *arguments, **options)
    return console.file.getvalue()


@pytest.mark.parametrize("verdict", ["bias found", "no bias found", "not identified"])
def test_the_verdict_comes_first_and_the_sentence_after_it(verdict, example):
    fit = example(verdict=verdict)
    text = told(lambda console: show_result(fit, console))
    assert text.splitlines()[0] == verdict
    assert " ".join(sentence(fit).split()) in " ".join(text.split())
    assert "findings: 1 ok, 1 to look at" in text


def test_the_estimate_that_is_used_is_marked(example):
    rows = (Estimate("match", 5.0, 0.1, 4.8, 5.2), Estimate.missing("exact", "not run"))
    fit = replace(example(), estimates=rows, estimate=rows[0])
    fit = replace(fit, settings=replace(fit.settings, level=0.9))
    text = told(lambda console: console.print(estimate_table(fit)))
    assert "90% interval" in text
    assert "match *" in text
    assert "exact *" not in text
    assert "not run" in text
    alone = replace(fit, estimates=rows[:1])
    assert "note" not in told(lambda console: console.print(estimate_table(alone)))


def test_a_factor_is_told_as_a_share_of_the_truth(example):
    row = Estimate("match", 0.92, 0.05, 0.82, 1.02)
    fit = replace(example(), estimates=(row,), estimate=row)
    fit = replace(fit, settings=replace(fit.settings, scale="log", direction="under"))
    text = told(lambda console: console.print(estimate_table(fit)))
    assert "40% of the truth" in text
    assert "36% to 44%" in text
    assert "biased rows report about 40% of the truth (95% interval 36% to 44%)" in sentence(fit)


def test_what_is_fine_is_counted_and_said_on_request():
    text = told(show_findings, [FINE, POOR])
    assert "findings: 1 ok, 1 to look at" in text
    assert "-> Add a proxy." in text
    assert "Enough rows?" not in text
    assert "ok  Enough rows? There are." in told(show_findings, [FINE, POOR], every=True)


def test_names_are_text_and_never_markup():
    hostile = Finding("[red]p[/red] :smile:?", "s", "r", "", ok=False)
    assert "[red]p[/red] :smile:?" in told(show_findings, [hostile])
