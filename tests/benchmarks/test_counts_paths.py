"""Counts without a bias on every path: one table walked, and the page."""

from __future__ import annotations

import pandas as pd

from benchmarks import counts_paths


def test_every_path_of_a_table_is_walked_and_claims_nothing():
    world = counts_paths.WORLDS["Poisson, mean 3.7"]
    rows = pd.DataFrame(counts_paths.walk(world.draw(3, 200), seed=3))
    by_path = rows.groupby("path")["verdict"].agg(set)
    assert by_path["log scale"] == by_path["formula, log(y)"] == {"refused"}
    # Both directions are printed and run; the log scale is refused there too.
    assert (rows["path"] == "check's command").sum() == 3
    assert by_path["check's command"] - {"refused"}
    assert by_path["as it comes"] <= {"no bias found", "not identified"}
    assert "bias found" not in set(rows["verdict"])


def test_the_page_counts_claims():
    rows = [
        {"world": "a", "seed": seed, "error": None, "path": path, "verdict": verdict, "seconds": 1.0}
        for seed in range(4)
        for path, verdict in (
            ("exact", "not identified"),
            ("normal", "bias found" if seed == 2 else "refused"),
        )
    ]
    exact, normal = counts_paths.page(pd.DataFrame(rows)).parts[0].rows
    assert (exact["bias found"], exact["tables"], exact["reached"]) == ("0", "4", "yes")
    assert (normal["bias found"], normal["refused"], normal["reached"]) == ("1", "3", "**no**")
