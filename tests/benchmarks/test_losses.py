"""The benchmark of losses: its tables, one trial, and the page."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks import losses


def test_a_table_is_what_its_settings_say():
    table = losses.draw(2000, 0.3, 0.15, seed=3)
    assert abs((table["loss"] == 0).mean() - 0.15) < 0.01
    above = table[table["true"] > 0]
    np.testing.assert_allclose(above["loss"] / above["true"], np.where(above["biased"], 0.3, 1.0))
    assert np.log10(above["true"]).max() - np.log10(above["true"]).min() > 5
    assert set(table["region"]) == set(losses.REGIONS)


def test_a_trial_puts_the_answer_beside_the_truth():
    (row,) = losses.run_block(
        {"world": "dollars", "n": 600, "kept": 0.3, "zeros": 0.15, "seeds": [losses.FIRST_SEED - 1_000]}
    )
    assert row["error"] is None
    assert row["verdict"] == row["alone_verdict"] == "bias found"
    np.testing.assert_allclose(row["ratio"], row["alone_ratio"], rtol=1e-3)
    assert abs(row["ratio"] / 0.3 - 1.0) < 0.2


def by_hand(kept, seed):
    found = kept < 0.6
    return {
        "world": "dollars", "n": 1000, "kept": kept, "zeros": 0.15, "seed": seed, "error": None,
        "verdict": "bias found" if found else "no bias found", "ratio": kept * 1.02, "ratio_low": kept * 0.95,
        "ratio_high": kept * 1.05, "share": 0.3 if found else 0.0, "alone_ratio": kept,
        "told_ratio": kept,
        "alone_verdict": "bias found" if found else "no bias found", "covered": float(seed > 0), "regions": 4,
        "regions_covered": 4.0, "reported_error": -0.3, "calibrated_error": 0.01, "seconds": 1.0,
        "dollar_seconds": None if seed else 60.0, "dollar_verdict": None if seed else "not identified",
    }  # fmt: skip


def test_the_page_judges_what_was_asked():
    rows = [by_hand(kept, seed) for kept in losses.SHARES for seed in range(20)]
    page = losses.page(pd.DataFrame(rows))
    biased, free, selected, totals, seconds = (part.rows for part in page.parts)
    assert selected == []
    assert [row["reached"] for row in biased] == ["yes", "yes", "yes"]
    assert free[0]["reached"] == "yes"
    assert (totals[0]["coverage"], totals[0]["reached"]) == ("95.0%", "yes")
    assert (totals[1]["coverage"], totals[1]["reached"]) == ("100.0%", "**no**")
    assert seconds[0]["in dollars"] == "60.0"


def test_the_page_shows_what_the_verdict_selects():
    rows = [by_hand(0.5, seed) for seed in range(20)]
    for row in rows[4:]:
        row |= {"verdict": "not identified", "alone_verdict": "not identified", "ratio": 0.52}
    (shown,) = losses.page(pd.DataFrame(rows)).parts[2].rows
    assert shown["found"] == "4 of 20"
    assert (shown["ratio: found"], shown["ratio: others"], shown["ratio: all"]) == ("51.0%", "52.0%", "51.8%")


def test_who_is_told_who_is_biased_gets_the_ratio():
    assert abs(losses.told_ratio(losses.draw(3000, 0.5, 0.15, seed=2)) / 0.5 - 1.0) < 0.05
