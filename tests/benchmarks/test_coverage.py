"""The page of the benchmark of coverage."""

from __future__ import annotations

from benchmarks import coverage
from hand_trials import all_trials


def test_the_coverage_page_wants_neither_too_little_nor_too_much():
    bench = coverage.bench()
    lines = bench.page(all_trials(bench)).parts[0].rows
    assert {(line["coverage"], line["reached"]) for line in lines} == {("100.0%", "**no**")}
    assert {(line["world"], line["n"]) for line in lines} >= {("JOBS resampled", "2,000"), ("poisson", "500")}
