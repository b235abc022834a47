"""A DuckDB relation beside a Parquet file: the same answers, and the page that says so."""

from __future__ import annotations

import pytest

from benchmarks import databases
from benchmarks.scale import write_table


def test_both_places_have_the_same_answers(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.scale.ALPHA", 5.0)  # found in few rows
    write_table(tmp_path / "reports.parquet", 600)
    databases.copy_to_duckdb(tmp_path)
    rows = [
        {"from": source, "step": step, **databases.run_step(source, step, str(tmp_path))}
        for source, step in databases.STEPS
    ]
    said = {(row["from"], row["step"]): databases.agreement(tmp_path, row, rows) for row in rows}
    assert said["duckdb", "fit"] == said["duckdb", "totals"] == "equal"
    assert said["duckdb", "calibrate"] == "equal"
    apart = said["duckdb", "view"].replace("equal", "at most 0 apart")
    assert float(apart.removeprefix("at most ").removesuffix(" apart")) < 1e-9
    wrong = {**rows[1], "answer": [0.0]}
    assert "not" in databases.agreement(tmp_path, wrong, rows)


@pytest.mark.parametrize(("gib", "reached"), [(0.5, "yes"), (1.5, "**no**")])
def test_the_page_judges_the_peak(gib, reached):
    row = {"from": "duckdb", "step": "fit", "seconds": 1.0, "peak": gib * 2.0**30, "same": "equal"}
    assert databases.page_of([row], 10_000_000).parts[0].rows[0]["reached"] == reached
