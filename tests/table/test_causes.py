"""A name that speaks of who reports and how is told from one that speaks of what was measured."""

from __future__ import annotations

import pytest

from proxycal.table.causes import cause_in


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("pct rural", "rural"),
        ("medincome 2013", "medincome"),
        ("number of offices", "offices"),
        ("method", "method"),
        ("populations", "populations"),
        ("rain radar", ""),
        ("pulse", ""),
        ("population insured", "insured"),
        ("claims paid", ""),
    ],
)
def test_causes_are_told_by_their_words(name, cause):
    assert cause_in(set(name.split()), {"loss"}) == cause


def test_what_was_reported_is_no_cause_of_the_report():
    assert cause_in({"population", "2010"}, {"reported", "population"}) == ""
