"""What a verdict selects: the tables, and the page."""

from __future__ import annotations

import pandas as pd

from benchmarks import losses, losses_selection


def test_the_first_tables_are_those_of_the_benchmark_of_losses():
    wanted = {
        cell.settings["zeros"]: cell.settings["seeds"]
        for cell in losses.bench().cells
        if (cell.settings["n"], cell.settings["kept"]) == (1000, 0.5) and cell.key.endswith("block=0")
    }
    for cell in losses_selection.bench().cells:
        if cell.key.endswith("block=0"):
            shared = min(len(cell.settings["seeds"]), len(wanted[cell.settings["zeros"]]))
            assert cell.settings["seeds"][:shared] == wanted[cell.settings["zeros"]][:shared]


def test_the_page_compares_what_was_found_with_all():
    rows = [
        {"world": "dollars", "n": 1000, "kept": 0.5, "zeros": 0.15, "seed": seed, "error": None,
         "verdict": "bias found" if seed < 5 else "not identified", "alone_verdict": "not identified",
         "ratio": 0.46 if seed < 5 else 0.51 + 0.001 * seed, "ratio_low": 0.4, "ratio_high": 0.6,
         "alone_ratio": 0.5 + 0.001 * seed, "told_ratio": 0.49 + 0.001 * seed, "share": 0.3, "covered": 1.0,
         "regions": 4, "regions_covered": 4.0, "reported_error": -0.3, "calibrated_error": 0.0,
         "seconds": 1.0}
        for seed in range(20)
    ]  # fmt: skip
    selected, compared = losses_selection.page(pd.DataFrame(rows)).parts
    assert selected.rows[0]["found"] == "5 of 20"
    assert selected.rows[0]["ratio: found"] == "46.0%"
    assert compared.rows[0]["bias found"] == "46.0% +- 0.0% of 5"
    assert compared.rows[2]["with told who"] == "1.00"
