"""What a notebook shows of a model."""

from __future__ import annotations

import base64
import re

import pytest

from proxycal.report.notebook import notebook
from proxycal.report.summary import sentence
from proxycal.result import Finding


def test_verdict_size_picture_and_findings_that_need_attention(example):
    fit = example()
    shown = notebook(fit)
    assert shown.index(fit.verdict) < shown.index(sentence(fit)) < shown.index("<img") < shown.index("<li>")
    assert "5.02 (95% interval 4.92 to 5.12)" in shown
    (picture,) = re.findall(r'<img src="data:image/png;base64,([^"]+)" alt="[^"]+"', shown)
    assert base64.b64decode(picture).startswith(b"\x89PNG")
    assert "1 of 2 findings need attention" in shown
    assert "Add a proxy of the outcome." in shown
    assert "Yes, clearly." not in shown


def test_findings_name_their_columns(example):
    finding = Finding("Missing?", "column 'income': 3 of 400", "Column 'income' has gaps.", "Drop.", ok=False)
    shown = notebook(example(findings=(finding,)))
    assert "column &#x27;income&#x27;: 3 of 400" in shown


def test_nothing_to_attend_to_is_said(example):
    fine = tuple(finding for finding in example().findings if finding.ok)
    assert "1 checks, none of which needs attention" in notebook(example(findings=fine))


def test_where_nothing_is_identified_it_lists_what_would_help_and_shows_no_bold_number(example):
    fit = example(verdict="not identified")
    shown = notebook(fit)
    assert "What would help, most helpful first" in shown
    assert "<b>5.02</b>" in notebook(example())
    assert "<b>5.02</b>" not in shown


@pytest.mark.parametrize("outcome", ["<script>x</script>", '"><img src=x onerror=1>'])
def test_names_stay_text(outcome, example):
    shown = notebook(example(outcome=outcome))
    assert outcome not in shown
    assert "<script" not in shown
