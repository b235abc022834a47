"""The page of the benchmark of false alarms."""

from __future__ import annotations

from benchmarks import null
from hand_trials import all_trials


def test_the_null_page_counts_verdicts():
    bench = null.bench()
    lines = bench.page(all_trials(bench)).parts[0].rows
    assert len(lines) == 18
    assert {(line["bias found"], line["no bias found"], line["reached"]) for line in lines} == {
        ("2.5%", "97.5%", "yes")
    }
