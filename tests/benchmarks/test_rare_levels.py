"""NHANES with every level: what a draw is, and what the page asks."""

from __future__ import annotations

import pandas as pd

from benchmarks import rare_levels


def test_people_who_do_not_know_their_education_are_kept():
    table = rare_levels.people("weight")
    assert (table["education"] == rare_levels.RARE).sum() == 2
    assert len(rare_levels.bench().cells) == 2 * len(rare_levels.SHARES) * rare_levels.DRAWS


def drawn(outcome, seed, **changes):
    return {
        "outcome": outcome, "share": 0.05, "seed": seed, "error": None, "rmse": 3.8, "rmse_regression": 3.9,
        "rmse_report": 4.5, "held": 0.95, "moved": 24.0, "rare": 2, "rare_validated": 0, "rare_moved": 1.0,
        "total_held": seed > 0, **changes,
    }  # fmt: skip


def test_the_page_judges_what_was_asked():
    good = [drawn("weight", seed) for seed in range(10)]
    far = [drawn("height", seed, moved=31.0 if seed == 3 else 9.0) for seed in range(10)]
    weight, height = rare_levels.page(pd.DataFrame(good + far)).parts[0].rows
    assert (weight["over regression"], weight["total held"], weight["reached"]) == ("0.974", "9 of 10", "yes")
    assert (height["furthest move"], height["reached"]) == ("31.0", "**no**")
    lost = pd.DataFrame([*good[1:], {"outcome": "weight", "share": 0.05, "seed": 0, "error": "TableError"}])
    assert rare_levels.page(lost).parts[0].rows[0]["reached"] == "**no**"
