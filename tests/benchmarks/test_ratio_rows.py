"""The same law in more rows: one small fit beside its truth, and what the page asks."""

from __future__ import annotations

import pandas as pd

from benchmarks import ratio_rows


def test_a_trial_stands_beside_the_truth_and_uses_all_rows():
    row = ratio_rows.trial(3_000, seed=4)
    assert row["rows"] == row["fitted"] == 3_000
    assert 0.85 < row["reported"] < 0.95
    assert row["total_covered"] == (row["verdict"] == "bias found" and abs(row["total"] - 1.0) < 0.05)


def fitted(n, seed, **changes):
    return {
        "n": n, "seed": seed, "error": None, "verdict": "bias found", "ratio": 0.6, "low": 0.55, "high": 0.65,
        "covered": True, "reported": 0.9, "total": 1.0, "total_covered": True, "rows": n, "fitted": n,
        "seconds": 1.0, **changes,
    }  # fmt: skip


def test_the_page_judges_what_was_asked():
    rows = [fitted(3_000, seed, total_covered=seed > 0) for seed in range(5)]
    rows += [fitted(400_000, 1, verdict="not identified"), fitted(2_000_000, 1, fitted=200_000)]
    table, fits = ratio_rows.page(pd.DataFrame(rows)).parts
    assert [row["reached"] for row in table.rows] == ["yes", "**no**", "**no**"]
    assert [row["found"] for row in table.rows] == ["5", "0", "1"]
    assert len(fits.rows) == len(rows)
