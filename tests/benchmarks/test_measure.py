"""Ratios that are what they name."""

from __future__ import annotations

from benchmarks.measure import ratios, row


def test_the_page_shows_the_ratio():
    page = ratios("Scale", [row("slow over fast", 6.0, 2.0, ">= 1.7")])
    assert page.parts[0].rows[0]["ratio"] == "3.000"
