"""Sentences on a page."""

from __future__ import annotations

from proxycal.report.prose import prose
from proxycal.table.surface import speaking


def test_a_name_in_a_sentence_stays_text():
    assert prose("Column '<b>x</b>'") == "Column &#39;&lt;b&gt;x&lt;/b&gt;&#39;"


def test_what_is_typed_is_code_and_its_markup_stays_text():
    assert prose("Run `a <b>`.") == "Run <code>a &lt;b&gt;</code>."


def test_the_app_names_its_button():
    with speaking("app"):
        assert prose("`proxycal power` tells.") == "“Calibrate and compute power” tells."
