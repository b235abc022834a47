"""One proxy less at a time: the proxy on which the result depends is named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proxycal.questions.refute.drop_proxy import read


def test_the_proxy_that_moves_alpha_is_named_with_its_number(base, refits):
    steady = refits(3, alpha=2.1)
    holds = read(base, steady)
    assert holds.ok
    assert "at most 1.0 standard errors" in holds.reading
    moved = read(base, [*steady, replace(base, change="without 'p_9'", alpha=1.0)])
    assert not moved.ok
    assert moved.value == pytest.approx(10.0)
    assert moved.reading.startswith("alpha changes by 10.0 standard errors without 'p_9'")
    assert moved.statistic == "alpha changes most without 'p_9': 2.00 to 1.00"


def test_the_proxy_without_which_the_verdict_changes_is_named(base, refits):
    turned = [*refits(3, alpha=2.1), replace(base, change="without 'p_7'", verdict="no bias found")]
    refuted = read(base, turned)
    assert not refuted.ok
    assert refuted.reading.startswith("The verdict changes without 'p_7'.")
    unclaimed = replace(base, verdict="no bias found")
    same = read(unclaimed, turned[3:]).reading
    assert same.endswith("'no bias found', and stays the same without any single one.")
    assert read(unclaimed, turned[:1]).reading.endswith("'no bias found'; it changes change 0.")
